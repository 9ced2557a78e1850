#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "text.h"

// As often a call tries before it lets its client come back. Only calls for one object meet here, and the host lets those
// of one name in one after the other.
enum { ATTEMPTS = 4 };

// How an attempt ended.
enum step {
    DONE,
    // Another call was faster: read again and decide anew.
    AGAIN,
    // The error says why.
    FAILED,
};

void record_free(struct record *record) {
    backend_string_free(&record->volume_id);
    backend_string_free(&record->parameters);
}

static bool crowded(contract_error *err) {
    error_code code = DRIVEBAY_BACKEND_TYPES_ERROR_CODE_ABORTED;
    return fail_with_reason(err, code, "busy", "other calls changed the state again and again");
}

static bool damaged(backend_string_t key, contract_error *err) {
    return fail(err, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_FAILED_PRECONDITION, "a record is damaged: ", key);
}

// What the state answered, as an error for clients. Takes it.
static bool refused(drivebay_host_state_error_t *failed, contract_error *err) {
    const backend_string_t nothing = {0};
    switch (failed->tag) {
    case DRIVEBAY_HOST_STATE_ERROR_QUOTA_EXCEEDED:
        fail(err, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_RESOURCE_EXHAUSTED, "the state's quota is used up", nothing);
        break;
    case DRIVEBAY_HOST_STATE_ERROR_READ_ONLY:
        fail(err, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_FAILED_PRECONDITION, "the state is read-only here", nothing);
        break;
    case DRIVEBAY_HOST_STATE_ERROR_INVALID:
        fail(err, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_UNAVAILABLE, "the state refused it: ", failed->val.invalid);
        break;
    case DRIVEBAY_HOST_STATE_ERROR_UNAVAILABLE:
        fail(err, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_UNAVAILABLE, "the state failed: ", failed->val.unavailable);
        break;
    default:
        crowded(err);
    }
    drivebay_host_state_error_free(failed);
    return false;
}

// The value of a key; `is_some` says whether there is one.
static bool read_key(backend_string_t key, backend_option_string_t *value, contract_error *err) {
    backend_option_list_u8_t found;
    drivebay_host_state_error_t failed;
    if (!drivebay_host_state_get(&key, &found, &failed)) {
        return refused(&failed, err);
    }
    // Bytes and text are the same here.
    *value = (backend_option_string_t){found.is_some, {found.val.ptr, found.val.len}};
    if (!found.is_some) {
        value->val = (backend_string_t){0};
    }
    return true;
}

static drivebay_host_state_change_t put(backend_string_t key, backend_string_t value) {
    drivebay_host_state_change_t change = {.tag = DRIVEBAY_HOST_STATE_CHANGE_PUT};
    change.val.put = (drivebay_host_state_entry_t){key, {value.ptr, value.len}};
    return change;
}

static drivebay_host_state_change_t remove_key(backend_string_t key) {
    drivebay_host_state_change_t change = {.tag = DRIVEBAY_HOST_STATE_CHANGE_DELETE};
    change.val.delete_ = key;
    return change;
}

static drivebay_host_state_change_t expect(backend_string_t key, backend_option_string_t value) {
    drivebay_host_state_change_t change = {.tag = DRIVEBAY_HOST_STATE_CHANGE_EXPECT};
    change.val.expect = (drivebay_host_state_expectation_t){key, {value.is_some, {value.val.ptr, value.val.len}}};
    return change;
}

static enum step commit(drivebay_host_state_change_t *changes, size_t count, contract_error *err) {
    drivebay_host_state_list_change_t list = {changes, count};
    drivebay_host_state_error_t failed;
    if (drivebay_host_state_commit(&list, &failed)) {
        return DONE;
    }
    if (failed.tag == DRIVEBAY_HOST_STATE_ERROR_CONFLICT) {
        drivebay_host_state_error_free(&failed);
        return AGAIN;
    }
    refused(&failed, err);
    return FAILED;
}

// `ID BYTES PARAMETERS`: ids have no spaces, and what comes last may hold anything.
static backend_string_t print_record(const struct record *record) {
    struct text_buffer buffer = {0};
    text_add(&buffer, record->volume_id);
    text_add(&buffer, text_of(" "));
    text_add_number(&buffer, record->capacity_bytes);
    text_add(&buffer, text_of(" "));
    text_add(&buffer, record->parameters);
    return text_take(&buffer);
}

// Cuts the part before the next space off, which stays a part of `rest`'s memory.
static bool cut(backend_string_t *rest, backend_string_t *part) {
    const uint8_t *space = rest->len == 0 ? NULL : memchr(rest->ptr, ' ', rest->len);
    if (space == NULL) {
        return false;
    }
    *part = (backend_string_t){rest->ptr, (size_t)(space - rest->ptr)};
    rest->ptr += part->len + 1;
    rest->len -= part->len + 1;
    return part->len > 0;
}

static bool parse_number(backend_string_t text, uint64_t *number) {
    *number = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t digit = text.ptr[i] - '0';
        if (digit > 9 || *number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *number = 10 * *number + digit;
    }
    return text.len > 0;
}

static bool parse_record(backend_string_t key, backend_string_t text, struct record *record, contract_error *err) {
    backend_string_t volume_id, bytes;
    uint64_t capacity_bytes;
    if (!cut(&text, &volume_id) || !cut(&text, &bytes) || !parse_number(bytes, &capacity_bytes)) {
        return damaged(key, err);
    }
    *record = (struct record){text_copy(volume_id), capacity_bytes, text_copy(text)};
    return true;
}

// 128 random bits, so that no id is ever given twice, to a volume deleted long ago neither.
static backend_string_t draw_id(void) {
    uint8_t bytes[16];
    if (getentropy(bytes, sizeof bytes) != 0) {
        abort();
    }
    char digits[2 * sizeof bytes + 1];
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
    }
    return text_concat("vol-", text_of(digits));
}

static enum step create(backend_string_t key, backend_string_t name, const struct record *record, contract_error *err) {
    backend_string_t value = print_record(record);
    backend_string_t by_id = text_concat("id/", record->volume_id);
    drivebay_host_state_change_t changes[] = {
        expect(key, (backend_option_string_t){0}),
        put(key, value),
        put(by_id, name),
    };
    enum step step = commit(changes, sizeof changes / sizeof *changes, err);
    backend_string_free(&value);
    backend_string_free(&by_id);
    return step;
}

static enum step find_or_create(backend_string_t key, backend_string_t name, backend_string_t parameters,
                                const drivebay_backend_types_volume_t *told, struct record *record,
                                contract_error *err) {
    backend_option_string_t found;
    if (!read_key(key, &found, err)) {
        return FAILED;
    }
    if (found.is_some) {
        bool is_whole = parse_record(key, found.val, record, err);
        backend_string_free(&found.val);
        return is_whole ? DONE : FAILED;
    }
    *record = (struct record){draw_id(), told->capacity_bytes, text_copy(parameters)};
    drivebay_backend_types_volume_t answer = *told;
    answer.volume_id = record->volume_id;
    enum step step = answers_check(&answer, err) ? create(key, name, record, err) : FAILED;
    if (step != DONE) {
        record_free(record);
    }
    return step;
}

bool records_find_or_create(backend_string_t name, backend_string_t parameters,
                            const drivebay_backend_types_volume_t *told, struct record *record, contract_error *err) {
    backend_string_t key = text_concat("volume/", name);
    enum step step = AGAIN;
    for (int attempt = 0; step == AGAIN && attempt < ATTEMPTS; attempt++) {
        step = find_or_create(key, name, parameters, told, record, err);
    }
    backend_string_free(&key);
    return step == AGAIN ? crowded(err) : step == DONE;
}

static enum step delete_once(backend_string_t by_id, contract_error *err) {
    backend_option_string_t name;
    if (!read_key(by_id, &name, err)) {
        return FAILED;
    }
    if (!name.is_some) {
        return DONE;
    }
    backend_string_t by_name = text_concat("volume/", name.val);
    drivebay_host_state_change_t changes[] = {expect(by_id, name), remove_key(by_id), remove_key(by_name)};
    enum step step = commit(changes, sizeof changes / sizeof *changes, err);
    backend_string_free(&by_name);
    backend_string_free(&name.val);
    return step;
}

bool records_delete(backend_string_t volume_id, contract_error *err) {
    backend_string_t by_id = text_concat("id/", volume_id);
    enum step step = AGAIN;
    for (int attempt = 0; step == AGAIN && attempt < ATTEMPTS; attempt++) {
        step = delete_once(by_id, err);
    }
    backend_string_free(&by_id);
    return step == AGAIN ? crowded(err) : step == DONE;
}

static bool find_by_name(backend_string_t name, struct record *record, contract_error *err) {
    backend_string_t key = text_concat("volume/", name);
    backend_option_string_t found;
    bool is_done = read_key(key, &found, err);
    if (is_done && found.is_some) {
        is_done = parse_record(key, found.val, record, err);
        backend_string_free(&found.val);
    }
    backend_string_free(&key);
    return is_done;
}

bool records_find(backend_string_t volume_id, struct record *record, contract_error *err) {
    *record = (struct record){0};
    backend_string_t key = text_concat("id/", volume_id);
    backend_option_string_t name;
    bool is_done = read_key(key, &name, err);
    if (is_done && name.is_some) {
        is_done = find_by_name(name.val, record, err);
        backend_string_free(&name.val);
    }
    backend_string_free(&key);
    return is_done;
}

static int by_key(const void *one, const void *other) {
    const backend_tuple2_string_string_t *a = one, *b = other;
    return text_compare(a->f0, b->f0);
}

// Each key and value with its length in front, so that no two maps look alike.
backend_string_t fingerprint(const drivebay_backend_types_string_map_t *parameters) {
    backend_tuple2_string_string_t *sorted = calloc(parameters->len + 1, sizeof *sorted);
    if (sorted == NULL) {
        abort();
    }
    for (size_t i = 0; i < parameters->len; i++) {
        sorted[i] = parameters->ptr[i];
    }
    qsort(sorted, parameters->len, sizeof *sorted, by_key);
    struct text_buffer buffer = {0};
    for (size_t i = 0; i < parameters->len; i++) {
        const backend_string_t parts[] = {sorted[i].f0, sorted[i].f1};
        for (size_t part = 0; part < 2; part++) {
            text_add_number(&buffer, parts[part].len);
            text_add(&buffer, text_of(":"));
            text_add(&buffer, parts[part]);
        }
    }
    free(sorted);
    return text_take(&buffer);
}
