#include "misbehave.h"

#include <stdio.h>
#include <stdlib.h>

#include "text.h"

// By their numbers in the contract.
static const char *const CODES[] = {
    "invalid-argument", "not-found",       "already-exists",    "failed-precondition", "resource-exhausted",
    "out-of-range",     "aborted",         "unauthenticated",   "permission-denied",   "unavailable",
    "unimplemented",    "internal",
};

static error_code code_of(backend_string_t word) {
    for (size_t code = 0; code < sizeof CODES / sizeof *CODES; code++) {
        if (text_is_equal(word, text_of(CODES[code]))) {
            return (error_code)code;
        }
    }
    return DRIVEBAY_BACKEND_TYPES_ERROR_CODE_INVALID_ARGUMENT;
}

bool misbehave_unless_good(const drivebay_backend_types_string_map_t *parameters, contract_error *err) {
    for (size_t i = 0; i < parameters->len; i++) {
        backend_string_t key = parameters->ptr[i].f0, value = parameters->ptr[i].f1;
        if (text_is_equal(key, text_of("trap")) && text_is_equal(value, text_of("1"))) {
            fputs("the parameter trap asks for it\n", stderr);
            abort();
        }
        if (text_is_equal(key, text_of("fail"))) {
            return fail(err, code_of(value), "the parameter fail asks for it: ", value);
        }
    }
    return true;
}
