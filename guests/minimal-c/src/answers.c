#include "answers.h"

#include <string.h>

#include "text.h"

enum {
    // In bytes.
    LONGEST_ID = 128,
    // In bytes, keys and values together.
    LARGEST_CONTEXT = 4 << 10,
};

static bool broken(contract_error *err, const char *problem) {
    error_code code = DRIVEBAY_BACKEND_TYPES_ERROR_CODE_INTERNAL;
    return fail(err, code, "the backend would answer against the contract: ", text_of(problem));
}

// U+0000 to U+001F, U+007F, and U+0080 to U+009F, which are two bytes.
static bool has_control(backend_string_t text) {
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = text.ptr[i];
        uint8_t next = i + 1 < text.len ? text.ptr[i + 1] : 0;
        if (byte < 0x20 || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next <= 0x9f)) {
            return true;
        }
    }
    return false;
}

static bool check_context(const drivebay_backend_types_string_map_t *context, contract_error *err) {
    size_t size = 0;
    for (size_t i = 0; i < context->len; i++) {
        backend_string_t key = context->ptr[i].f0, value = context->ptr[i].f1;
        if (key.len == 0 || has_control(key) || (value.len > 0 && memchr(value.ptr, 0, value.len) != NULL)) {
            return broken(err, "volume-context has an unusable key or value");
        }
        for (size_t before = 0; before < i; before++) {
            if (text_is_equal(context->ptr[before].f0, key)) {
                return broken(err, "volume-context has a key twice");
            }
        }
        size += key.len + value.len;
        // Here and not at the end: nobody compares the keys of a map of any size.
        if (size > LARGEST_CONTEXT) {
            return broken(err, "volume-context has more than 4096 bytes");
        }
    }
    return true;
}

bool answers_check(const drivebay_backend_types_volume_t *volume, contract_error *err) {
    if (volume->volume_id.len == 0 || volume->volume_id.len > LONGEST_ID) {
        return broken(err, "volume-id has no bytes, or more than 128");
    }
    if (has_control(volume->volume_id)) {
        return broken(err, "volume-id has a control character");
    }
    if (volume->capacity_bytes > INT64_MAX) {
        return broken(err, "capacity-bytes is more than 2^63 - 1");
    }
    return check_context(&volume->volume_context, err);
}
