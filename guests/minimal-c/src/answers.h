// What a client is going to be told, held against the contract.
//
// It knows no request and changes nothing. The host refuses an answer that breaks the contract, but what was committed
// before stays: a volume that no client knows of. So `records` asks it before every commit.

#pragma once

#include "failure.h"

// Fails where clients cannot be told of a volume.
bool answers_check(const drivebay_backend_types_volume_t *volume, contract_error *err);
