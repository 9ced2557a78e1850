// Errors, as the contract has them.
//
// A function that can fail returns whether it did its work, and fills the error in where it did not. The error belongs to
// the caller then, who hands it on.

#pragma once

#include "backend.h"

typedef drivebay_backend_types_error_t contract_error;
typedef drivebay_backend_types_error_code_t error_code;

// Says why a request is not carried out, in one sentence: `words`, then `subject`. Always false, so that a function can
// end with it. The code decides what clients do next (wit/deps/README.md).
bool fail(contract_error *err, error_code code, const char *words, backend_string_t subject);

// The same with a registered reason, which says more than the code.
bool fail_with_reason(contract_error *err, error_code code, const char *reason, const char *words);
