// Two parameters that misbehave on purpose, for the project's tests: `fail` (the word of an error code to answer) and
// `trap` (`1`: abort). Projects that begin with this backend are made without it.

#pragma once

#include "failure.h"

// Does what the parameters for tests ask for.
bool misbehave_unless_good(const drivebay_backend_types_string_map_t *parameters, contract_error *err);
