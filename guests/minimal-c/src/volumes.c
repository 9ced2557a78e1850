// The smallest controller: volumes are records in the host's state and nowhere else.
//
// It decides what a request means; how it is remembered is in `records`. A request belongs to the function that the
// component exports, which frees it; an answer belongs to the host.

#include <stdlib.h>

#include "failure.h"
#include "misbehave.h"
#include "records.h"
#include "text.h"

// As large as a volume is when the client does not say: 1 GiB.
static const uint64_t DEFAULT_BYTES = 1 << 30;
// What the keys of a volume's context begin with that hold its parameters.
static const char PARAMETER[] = "parameter.";
// In every volume's context.
static const char LANGUAGE[] = "language", C[] = "c";

typedef drivebay_backend_types_string_map_t string_map;
typedef drivebay_backend_types_volume_t volume_t;
typedef exports_drivebay_backend_volumes_create_volume_request_t create_request;
typedef exports_drivebay_backend_volumes_validate_volume_capabilities_request_t validate_request;

// What clients hand back with every later request for the volume.
static string_map context_of(const string_map *parameters) {
    backend_tuple2_string_string_t *pairs = calloc(parameters->len + 1, sizeof *pairs);
    if (pairs == NULL) {
        abort();
    }
    pairs[0] = (backend_tuple2_string_string_t){text_copy(text_of(LANGUAGE)), text_copy(text_of(C))};
    for (size_t i = 0; i < parameters->len; i++) {
        pairs[i + 1].f0 = text_concat(PARAMETER, parameters->ptr[i].f0);
        pairs[i + 1].f1 = text_copy(parameters->ptr[i].f1);
    }
    return (string_map){pairs, parameters->len + 1};
}

// Whether this is what create_volume said of the volume.
static bool is_context(const string_map *context, const struct record *record) {
    backend_tuple2_string_string_t *pairs = calloc(context->len, sizeof *pairs);
    if (pairs == NULL) {
        abort();
    }
    string_map parameters = {pairs, 0};
    size_t languages = 0, others = 0;
    for (size_t i = 0; i < context->len; i++) {
        backend_string_t key = context->ptr[i].f0, value = context->ptr[i].f1;
        if (text_begins_with(key, PARAMETER)) {
            size_t prefix = sizeof PARAMETER - 1;
            backend_string_t bare = {key.ptr + prefix, key.len - prefix};
            pairs[parameters.len++] = (backend_tuple2_string_string_t){bare, value};
        } else if (text_is_equal(key, text_of(LANGUAGE)) && text_is_equal(value, text_of(C))) {
            languages++;
        } else {
            others++;
        }
    }
    backend_string_t found = fingerprint(&parameters);
    bool is_same = languages == 1 && others == 0 && text_is_equal(found, record->parameters);
    backend_string_free(&found);
    free(pairs);
    return is_same;
}

// The size of a new volume.
static uint64_t choose(const drivebay_backend_types_capacity_range_t *asked) {
    if (asked->required_bytes.is_some) {
        return asked->required_bytes.val;
    }
    bool is_less = asked->limit_bytes.is_some && asked->limit_bytes.val < DEFAULT_BYTES;
    return is_less ? asked->limit_bytes.val : DEFAULT_BYTES;
}

// Whether an existing volume has the size that is asked for.
static bool contains(const drivebay_backend_types_capacity_range_t *asked, uint64_t bytes) {
    bool is_enough = !asked->required_bytes.is_some || asked->required_bytes.val <= bytes;
    return is_enough && (!asked->limit_bytes.is_some || bytes <= asked->limit_bytes.val);
}

// Gives the volume the id and the size of its record, if that is what was asked for. Takes the record.
static bool tell(struct record *record, backend_string_t parameters,
                 const drivebay_backend_types_capacity_range_t *asked, volume_t *volume, contract_error *err) {
    if (!text_is_equal(record->parameters, parameters) || !contains(asked, record->capacity_bytes)) {
        record_free(record);
        error_code code = DRIVEBAY_BACKEND_TYPES_ERROR_CODE_ALREADY_EXISTS;
        return fail_with_reason(err, code, "incompatible",
                                "a volume of this name has another size or other parameters");
    }
    volume->volume_id = text_copy(record->volume_id);
    volume->capacity_bytes = record->capacity_bytes;
    record_free(record);
    return true;
}

static bool create(const create_request *request, volume_t *volume, contract_error *err) {
    if (!misbehave_unless_good(&request->parameters, err)) {
        return false;
    }
    if (request->volume_content_source.is_some) {
        return fail(err, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_INVALID_ARGUMENT, "this backend copies nothing", text_of(""));
    }
    drivebay_backend_types_capacity_range_t asked = {0};
    if (request->capacity_range.is_some) {
        asked = request->capacity_range.val;
    }
    *volume = (volume_t){.capacity_bytes = choose(&asked), .volume_context = context_of(&request->parameters)};
    backend_string_t parameters = fingerprint(&request->parameters);
    struct record record;
    bool is_done = records_find_or_create(request->name, parameters, volume, &record, err) &&
                   tell(&record, parameters, &asked, volume, err);
    backend_string_free(&parameters);
    if (!is_done) {
        drivebay_backend_types_volume_free(volume);
    }
    return is_done;
}

static void log_volume(backend_string_t name, backend_string_t volume_id) {
    struct text_buffer buffer = {0};
    text_add(&buffer, name);
    text_add(&buffer, text_of(" is "));
    text_add(&buffer, volume_id);
    backend_string_t context = text_of("volumes"), message = text_take(&buffer);
    wasi_logging_logging_log(WASI_LOGGING_LOGGING_LEVEL_INFO, &context, &message);
    backend_string_free(&message);
}

// Makes a volume, or finds the one that an earlier call with the same name made.
bool exports_drivebay_backend_volumes_create_volume(create_request *request, volume_t *ret, contract_error *err) {
    bool is_done = create(request, ret, err);
    if (is_done) {
        log_volume(request->name, ret->volume_id);
    }
    exports_drivebay_backend_volumes_create_volume_request_free(request);
    return is_done;
}

// Forgets a volume; success when there is none.
bool exports_drivebay_backend_volumes_delete_volume(exports_drivebay_backend_volumes_delete_volume_request_t *request,
                                                    contract_error *err) {
    bool is_done = records_delete(request->volume_id, err);
    exports_drivebay_backend_volumes_delete_volume_request_free(request);
    return is_done;
}

static bool validate(const validate_request *request, exports_drivebay_backend_volumes_verdict_t *verdict,
                     contract_error *err) {
    struct record record;
    if (!records_find(request->volume_id, &record, err)) {
        return false;
    }
    if (record.volume_id.len == 0) {
        return fail(err, DRIVEBAY_BACKEND_TYPES_ERROR_CODE_NOT_FOUND, "there is no volume ", request->volume_id);
    }
    bool is_own = request->volume_context.len == 0 || is_context(&request->volume_context, &record);
    record_free(&record);
    *verdict = (exports_drivebay_backend_volumes_verdict_t){.tag = EXPORTS_DRIVEBAY_BACKEND_VOLUMES_VERDICT_SUPPORTED};
    if (!is_own) {
        verdict->tag = EXPORTS_DRIVEBAY_BACKEND_VOLUMES_VERDICT_UNSUPPORTED;
        verdict->val.unsupported = text_copy(text_of("the volume has another context"));
    }
    return true;
}

// Supports everything for every volume that exists, but for a context of another.
bool exports_drivebay_backend_volumes_validate_volume_capabilities(validate_request *request,
                                                                   exports_drivebay_backend_volumes_verdict_t *ret,
                                                                   contract_error *err) {
    bool is_done = validate(request, ret, err);
    exports_drivebay_backend_volumes_validate_volume_capabilities_request_free(request);
    return is_done;
}
