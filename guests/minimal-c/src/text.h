// Strings, as the contract has them: bytes with a length. They may hold anything, a zero byte as well.
//
// A string that a function returns belongs to the caller, who frees it with `backend_string_free`. One that is handed in
// stays the caller's. Where there is no memory left, the call ends: a trap, after which the client repeats it.

#pragma once

#include "backend.h"

// A constant, as a string that nobody may free.
backend_string_t text_of(const char *constant);

bool text_is_equal(backend_string_t one, backend_string_t other);

// Less than zero, zero or more, by bytes.
int text_compare(backend_string_t one, backend_string_t other);

bool text_begins_with(backend_string_t text, const char *prefix);

backend_string_t text_copy(backend_string_t text);

backend_string_t text_concat(const char *prefix, backend_string_t rest);

// A text in the making.
struct text_buffer {
    uint8_t *bytes;
    size_t length;
    size_t capacity;
};

void text_add(struct text_buffer *buffer, backend_string_t text);
void text_add_number(struct text_buffer *buffer, uint64_t number);

// What was written. The buffer is empty afterwards.
backend_string_t text_take(struct text_buffer *buffer);
