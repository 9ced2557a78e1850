#include "failure.h"

#include "text.h"

bool fail(contract_error *err, error_code code, const char *words, backend_string_t subject) {
    *err = (contract_error){.code = code, .message = text_concat(words, subject)};
    return false;
}

bool fail_with_reason(contract_error *err, error_code code, const char *reason, const char *words) {
    *err = (contract_error){.code = code, .message = text_copy(text_of(words))};
    err->reason.is_some = true;
    err->reason.val = text_copy(text_of(reason));
    return false;
}
