#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

backend_string_t text_of(const char *constant) {
    return (backend_string_t){(uint8_t *)constant, strlen(constant)};
}

bool text_is_equal(backend_string_t one, backend_string_t other) {
    return one.len == other.len && text_compare(one, other) == 0;
}

int text_compare(backend_string_t one, backend_string_t other) {
    size_t common = one.len < other.len ? one.len : other.len;
    int order = common == 0 ? 0 : memcmp(one.ptr, other.ptr, common);
    return order != 0 ? order : (one.len > other.len) - (one.len < other.len);
}

bool text_begins_with(backend_string_t text, const char *prefix) {
    size_t length = strlen(prefix);
    return text.len >= length && memcmp(text.ptr, prefix, length) == 0;
}

backend_string_t text_copy(backend_string_t text) {
    return text_concat("", text);
}

backend_string_t text_concat(const char *prefix, backend_string_t rest) {
    struct text_buffer buffer = {0};
    text_add(&buffer, text_of(prefix));
    text_add(&buffer, rest);
    return text_take(&buffer);
}

void text_add(struct text_buffer *buffer, backend_string_t text) {
    if (text.len == 0) {
        return;
    }
    size_t needed = buffer->length + text.len;
    if (needed > buffer->capacity) {
        buffer->capacity = 2 * needed;
        buffer->bytes = realloc(buffer->bytes, buffer->capacity);
        if (buffer->bytes == NULL) {
            abort();
        }
    }
    memcpy(buffer->bytes + buffer->length, text.ptr, text.len);
    buffer->length = needed;
}

void text_add_number(struct text_buffer *buffer, uint64_t number) {
    char digits[21];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    text_add(buffer, text_of(digits));
}

backend_string_t text_take(struct text_buffer *buffer) {
    backend_string_t text = {buffer->bytes, buffer->length};
    *buffer = (struct text_buffer){0};
    return text;
}
