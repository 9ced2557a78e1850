// What clients rely on. Every call goes through the functions that the component exports, which free what they are given;
// the sanitizers fail what is forgotten.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "host.h"
#include "records.h"
#include "text.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { ANY = 0, GIB = 1 << 30 };

typedef drivebay_backend_types_volume_t volume_t;
typedef drivebay_backend_types_string_map_t string_map;

// What a call answered.
struct answer {
    bool is_ok;
    volume_t volume;
    exports_drivebay_backend_volumes_verdict_t verdict;
    contract_error err;
};

// Of texts: key, value, key, value. The callee frees it.
static string_map map(size_t pairs, const char *const *texts) {
    string_map map = {pairs == 0 ? NULL : calloc(pairs, sizeof *map.ptr), pairs};
    for (size_t i = 0; i < pairs; i++) {
        map.ptr[i].f0 = text_copy(text_of(texts[2 * i]));
        map.ptr[i].f1 = text_copy(text_of(texts[2 * i + 1]));
    }
    return map;
}

static struct answer create_with(const char *name, uint64_t bytes, size_t pairs, const char *const *parameters) {
    exports_drivebay_backend_volumes_create_volume_request_t request = {
        .name = text_copy(text_of(name)),
        .parameters = map(pairs, parameters),
        .secrets = map(1, (const char *const[]){"password", "secret"}),
    };
    request.capacity_range.is_some = bytes != ANY;
    request.capacity_range.val.required_bytes = (backend_option_u64_t){true, bytes};
    struct answer answer = {0};
    answer.is_ok = exports_drivebay_backend_volumes_create_volume(&request, &answer.volume, &answer.err);
    return answer;
}

static struct answer create(const char *name, uint64_t bytes) {
    return create_with(name, bytes, 0, NULL);
}

static bool delete(backend_string_t volume_id) {
    exports_drivebay_backend_volumes_delete_volume_request_t request = {.volume_id = text_copy(volume_id)};
    contract_error err;
    bool is_ok = exports_drivebay_backend_volumes_delete_volume(&request, &err);
    if (!is_ok) {
        drivebay_backend_types_error_free(&err);
    }
    return is_ok;
}

static struct answer validate(backend_string_t volume_id, string_map context) {
    exports_drivebay_backend_volumes_validate_volume_capabilities_request_t request = {
        .volume_id = text_copy(volume_id),
        .volume_context = context,
    };
    struct answer answer = {0};
    answer.is_ok =
        exports_drivebay_backend_volumes_validate_volume_capabilities(&request, &answer.verdict, &answer.err);
    return answer;
}

// Only one of them was filled in.
static void end(struct answer *answer) {
    if (answer->is_ok) {
        drivebay_backend_types_volume_free(&answer->volume);
        exports_drivebay_backend_volumes_verdict_free(&answer->verdict);
    } else {
        drivebay_backend_types_error_free(&answer->err);
    }
}

// That it was refused like this. Ends it.
static bool is_refused(struct answer answer, error_code code, const char *reason) {
    bool has_reason = reason == NULL ? !answer.err.reason.is_some
                                     : answer.err.reason.is_some && text_is_equal(answer.err.reason.val, text_of(reason));
    bool is_refused = !answer.is_ok && answer.err.code == code && has_reason && answer.err.message.len > 0;
    end(&answer);
    return is_refused;
}

static void a_repeated_call_finds_the_volume_of_the_first(void) {
    const char *const one[] = {"kind", "fast", "tier", "1"}, *const other[] = {"tier", "1", "kind", "fast"};
    struct answer first = create_with("a", ANY, 2, one), again = create_with("a", ANY, 2, other), b = create("b", ANY);
    CHECK(first.is_ok && first.volume.capacity_bytes == GIB);
    // The order of parameters means nothing.
    CHECK(again.is_ok && text_is_equal(again.volume.volume_id, first.volume.volume_id));
    CHECK(b.is_ok && !text_is_equal(b.volume.volume_id, first.volume.volume_id));
    end(&first), end(&again), end(&b);
}

static void the_same_name_with_other_wishes_is_refused(void) {
    struct answer first = create("a", 1 << 20);
    CHECK(first.is_ok);
    end(&first);
    error_code code = DRIVEBAY_BACKEND_TYPES_ERROR_CODE_ALREADY_EXISTS;
    CHECK(is_refused(create("a", 1 << 21), code, "incompatible"));
    CHECK(is_refused(create_with("a", 1 << 20, 1, (const char *const[]){"kind", "fast"}), code, "incompatible"));
}

static void nothing_is_left_of_a_deleted_volume_and_its_id_never_returns(void) {
    struct answer first = create("a", ANY);
    CHECK(first.is_ok && host_keys() == 2);
    CHECK(delete(first.volume.volume_id) && delete(first.volume.volume_id));
    CHECK(host_keys() == 0);
    CHECK(is_refused(validate(first.volume.volume_id, (string_map){0}), DRIVEBAY_BACKEND_TYPES_ERROR_CODE_NOT_FOUND, NULL));
    struct answer again = create("a", ANY);
    CHECK(again.is_ok && !text_is_equal(again.volume.volume_id, first.volume.volume_id));
    end(&first), end(&again);
}

static void a_call_that_loses_a_race_decides_anew(void) {
    host_conflicts = 3;
    struct answer first = create("a", ANY);
    CHECK(first.is_ok);
    end(&first);
    host_conflicts = 1000;
    CHECK(is_refused(create("b", ANY), DRIVEBAY_BACKEND_TYPES_ERROR_CODE_ABORTED, "busy"));
    CHECK(host_keys() == 2);
}

static void a_volume_is_known_by_the_context_that_it_was_given(void) {
    struct answer first = create_with("a", ANY, 1, (const char *const[]){"kind", "fast"});
    const struct {
        size_t pairs;
        const char *texts[6];
        bool is_own;
    } cases[] = {
        {2, {"language", "c", "parameter.kind", "fast"}, true},
        {2, {"parameter.kind", "fast", "language", "c"}, true},
        {2, {"language", "go", "parameter.kind", "fast"}, false},
        {2, {"language", "c", "parameter.kind", "slow"}, false},
        {1, {"language", "c"}, false},
        {1, {"parameter.kind", "fast"}, false},
        {3, {"language", "c", "parameter.kind", "fast", "unknown", "x"}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer answer = validate(first.volume.volume_id, map(cases[i].pairs, cases[i].texts));
        bool is_own = answer.verdict.tag == EXPORTS_DRIVEBAY_BACKEND_VOLUMES_VERDICT_SUPPORTED;
        CHECK(answer.is_ok && is_own == cases[i].is_own);
        end(&answer);
    }
    end(&first);
}

static void nothing_is_committed_that_no_client_can_be_told(void) {
    char value[5001] = {0};
    memset(value, 'v', sizeof value - 1);
    error_code code = DRIVEBAY_BACKEND_TYPES_ERROR_CODE_INTERNAL;
    CHECK(is_refused(create_with("a", ANY, 1, (const char *const[]){"k", value}), code, NULL));
    CHECK(is_refused(create("a", (uint64_t)INT64_MAX + 1), code, NULL));
    CHECK(host_keys() == 0);
}

static void what_the_state_answers_is_told_by_its_code(void) {
    const struct {
        uint8_t failure;
        error_code code;
    } cases[] = {
        {DRIVEBAY_HOST_STATE_ERROR_QUOTA_EXCEEDED, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_RESOURCE_EXHAUSTED},
        {DRIVEBAY_HOST_STATE_ERROR_READ_ONLY, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_FAILED_PRECONDITION},
        {DRIVEBAY_HOST_STATE_ERROR_INVALID, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_UNAVAILABLE},
        {DRIVEBAY_HOST_STATE_ERROR_UNAVAILABLE, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        host_failure = cases[i].failure;
        CHECK(is_refused(create("a", ANY), cases[i].code, NULL));
    }
    const char *const damaged[] = {"", "vol-1", "vol-1 12", " 12 ", "vol-1 x ", "vol-1 99999999999999999999 "};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        host_put("volume/a", damaged[i]);
        CHECK(is_refused(create("a", ANY), DRIVEBAY_BACKEND_TYPES_ERROR_CODE_FAILED_PRECONDITION, NULL));
    }
}

static bool has_words(backend_string_t text, const char *words) {
    for (; text.len > 0; text.ptr++, text.len--) {
        if (text_begins_with(text, words)) {
            return true;
        }
    }
    return false;
}

// Whether clients can be told of a volume like this; if not, the words say why.
static bool is_answer(backend_string_t id, uint64_t bytes, size_t pairs, const char *const *context, const char *words) {
    volume_t volume = {.volume_id = id, .capacity_bytes = bytes, .volume_context = map(pairs, context)};
    contract_error err = {0};
    bool is_told = answers_check(&volume, &err);
    bool is_said = !is_told && err.code == DRIVEBAY_BACKEND_TYPES_ERROR_CODE_INTERNAL && words != NULL &&
                   has_words(err.message, words);
    CHECK(is_told || is_said);
    drivebay_backend_types_string_map_free(&volume.volume_context);
    drivebay_backend_types_error_free(&err);
    return is_told;
}

static void an_answer_that_the_host_would_refuse_is_found(void) {
    char text[4098] = {0};
    memset(text, 'v', sizeof text - 1);
    backend_string_t id = text_of("v"), longest = {(uint8_t *)text, 128}, longer = {(uint8_t *)text, 129};
    CHECK(is_answer(longest, INT64_MAX, 1, (const char *const[]){"k", text + 2}, NULL));
    CHECK(is_answer(text_of("\xc3\xa9"), 1, 0, NULL, NULL));
    CHECK(!is_answer(text_of(""), 1, 0, NULL, "volume-id has no bytes"));
    CHECK(!is_answer(longer, 1, 0, NULL, "or more than 128"));
    CHECK(!is_answer(text_of("a\nb"), 1, 0, NULL, "control character"));
    CHECK(!is_answer(text_of("a\xc2\x85"), 1, 0, NULL, "control character"));
    CHECK(!is_answer(id, (uint64_t)INT64_MAX + 1, 0, NULL, "2^63 - 1"));
    CHECK(!is_answer(id, 1, 1, (const char *const[]){"k", text + 1}, "more than 4096 bytes"));
    CHECK(!is_answer(id, 1, 3, (const char *const[]){"k", "1", "j", "1", "k", "2"}, "a key twice"));
    CHECK(!is_answer(id, 1, 1, (const char *const[]){"", "1"}, "unusable"));
}

static void maps_that_look_alike_are_told_apart(void) {
    string_map one = map(1, (const char *const[]){"a", "b1:c"}), other = map(1, (const char *const[]){"ab", "1:c"});
    backend_string_t first = fingerprint(&one), second = fingerprint(&other);
    CHECK(!text_is_equal(first, second));
    backend_string_free(&first), backend_string_free(&second);
    drivebay_backend_types_string_map_free(&one), drivebay_backend_types_string_map_free(&other);
}

#define TEST(name) {#name, name}

int main(void) {
    const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        TEST(a_repeated_call_finds_the_volume_of_the_first),
        TEST(the_same_name_with_other_wishes_is_refused),
        TEST(nothing_is_left_of_a_deleted_volume_and_its_id_never_returns),
        TEST(a_call_that_loses_a_race_decides_anew),
        TEST(a_volume_is_known_by_the_context_that_it_was_given),
        TEST(nothing_is_committed_that_no_client_can_be_told),
        TEST(what_the_state_answers_is_told_by_its_code),
        TEST(an_answer_that_the_host_would_refuse_is_found),
        TEST(maps_that_look_alike_are_told_apart),
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tests[i].run();
        host_clear();
        printf("ok %s\n", tests[i].name);
    }
    return 0;
}
