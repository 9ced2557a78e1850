// The volumes as records in the host's state: `volume/NAME` holds id, size and parameters, `id/ID` the name.
//
// It knows nothing of requests. Every change is one commit with what was read before as its expectation: of two calls for
// one name that run at the same time one makes the volume, and the other reads again and finds it. Ids are drawn: calls
// for different names that counted them would all wait for one key. Nothing is committed of which no client could be told.

#pragma once

#include "failure.h"

// What the state holds of a volume. Freed with `record_free`.
struct record {
    backend_string_t volume_id;
    uint64_t capacity_bytes;
    // As `fingerprint` makes it.
    backend_string_t parameters;
};

void record_free(struct record *record);

// One text for each set of parameters, whatever their order.
backend_string_t fingerprint(const drivebay_backend_types_string_map_t *parameters);

// The volume of this name, new if there is none: with these parameters, and as told but for the id, which is drawn.
bool records_find_or_create(backend_string_t name, backend_string_t parameters,
                            const drivebay_backend_types_volume_t *told, struct record *record, contract_error *err);

// Forgets a volume; success when there is none.
bool records_delete(backend_string_t volume_id, contract_error *err);

// The volume of this id; without an id: there is none.
bool records_find(backend_string_t volume_id, struct record *record, contract_error *err);
