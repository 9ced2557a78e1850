// Who the backend is. It depends on nothing, because the host keeps the answers.

#include <stdlib.h>

#include "failure.h"
#include "text.h"

// Answers once for every version of the component.
bool exports_drivebay_backend_identity_describe(exports_drivebay_backend_identity_description_t *ret,
                                                contract_error *err) {
    (void)err;
    *ret = (exports_drivebay_backend_identity_description_t){
        .name = text_copy(text_of("minimal-c.drivebay.dev")),
        .vendor_version = text_copy(text_of("0.1.0")),
        .state_version = {.writes = 1, .reads_from = 1},
    };
    ret->manifest.ptr = malloc(sizeof *ret->manifest.ptr);
    if (ret->manifest.ptr == NULL) {
        abort();
    }
    ret->manifest.len = 1;
    ret->manifest.ptr[0] = (backend_tuple2_string_string_t){text_copy(text_of("language")), text_copy(text_of("c"))};
    return true;
}

// Always well: the state is all that this backend needs, and the host watches that.
bool exports_drivebay_backend_identity_probe(exports_drivebay_backend_identity_readiness_t *ret, contract_error *err) {
    (void)err;
    *ret = EXPORTS_DRIVEBAY_BACKEND_IDENTITY_READINESS_READY;
    return true;
}
