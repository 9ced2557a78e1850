#include "host.h"

#include <stdlib.h>

#include "text.h"

enum { MOST = 64 };

static struct entry {
    backend_string_t key;
    backend_string_t value;
} entries[MOST];
static size_t count;

unsigned host_conflicts;
uint8_t host_failure = DRIVEBAY_HOST_STATE_ERROR_CONFLICT;

// What the generated code would have called.
bool __wrap_drivebay_host_state_get(backend_string_t *key, backend_option_list_u8_t *ret,
                                    drivebay_host_state_error_t *err);
bool __wrap_drivebay_host_state_commit(drivebay_host_state_list_change_t *changes, drivebay_host_state_error_t *err);
void __wrap_wasi_logging_logging_log(wasi_logging_logging_level_t level, backend_string_t *context,
                                     backend_string_t *message);

static struct entry *find(backend_string_t key) {
    for (size_t i = 0; i < count; i++) {
        if (text_is_equal(entries[i].key, key)) {
            return &entries[i];
        }
    }
    return NULL;
}

static void forget(struct entry *entry) {
    backend_string_free(&entry->key);
    backend_string_free(&entry->value);
    *entry = entries[--count];
}

static void keep(backend_string_t key, backend_string_t value) {
    struct entry *there = find(key);
    if (there != NULL) {
        forget(there);
    }
    if (count == MOST) {
        abort();
    }
    entries[count++] = (struct entry){text_copy(key), text_copy(value)};
}

bool __wrap_drivebay_host_state_get(backend_string_t *key, backend_option_list_u8_t *ret,
                                    drivebay_host_state_error_t *err) {
    (void)err;
    const struct entry *entry = find(*key);
    *ret = (backend_option_list_u8_t){.is_some = entry != NULL};
    if (entry != NULL) {
        backend_string_t copy = text_copy(entry->value);
        ret->val = (backend_list_u8_t){copy.ptr, copy.len};
    }
    return true;
}

static bool is_met(const drivebay_host_state_expectation_t *expectation) {
    const struct entry *entry = find(expectation->key);
    backend_string_t value = {expectation->value.val.ptr, expectation->value.val.len};
    return expectation->value.is_some ? entry != NULL && text_is_equal(entry->value, value) : entry == NULL;
}

static bool refuse(drivebay_host_state_error_t *err, uint8_t tag) {
    *err = (drivebay_host_state_error_t){.tag = tag};
    // Words have the same place in all cases that have them.
    if (tag != DRIVEBAY_HOST_STATE_ERROR_QUOTA_EXCEEDED && tag != DRIVEBAY_HOST_STATE_ERROR_READ_ONLY) {
        err->val.conflict = text_copy(text_of("words"));
    }
    return false;
}

bool __wrap_drivebay_host_state_commit(drivebay_host_state_list_change_t *changes, drivebay_host_state_error_t *err) {
    if (host_failure != DRIVEBAY_HOST_STATE_ERROR_CONFLICT) {
        return refuse(err, host_failure);
    }
    if (host_conflicts > 0) {
        host_conflicts--;
        return refuse(err, DRIVEBAY_HOST_STATE_ERROR_CONFLICT);
    }
    for (size_t i = 0; i < changes->len; i++) {
        const drivebay_host_state_change_t *change = &changes->ptr[i];
        if (change->tag == DRIVEBAY_HOST_STATE_CHANGE_EXPECT && !is_met(&change->val.expect)) {
            return refuse(err, DRIVEBAY_HOST_STATE_ERROR_CONFLICT);
        }
    }
    for (size_t i = 0; i < changes->len; i++) {
        const drivebay_host_state_change_t *change = &changes->ptr[i];
        if (change->tag == DRIVEBAY_HOST_STATE_CHANGE_PUT) {
            const drivebay_host_state_entry_t *put = &change->val.put;
            keep(put->key, (backend_string_t){put->value.ptr, put->value.len});
        } else if (change->tag == DRIVEBAY_HOST_STATE_CHANGE_DELETE && find(change->val.delete_) != NULL) {
            forget(find(change->val.delete_));
        }
    }
    return true;
}

void __wrap_wasi_logging_logging_log(wasi_logging_logging_level_t level, backend_string_t *context,
                                     backend_string_t *message) {
    (void)level;
    (void)context;
    (void)message;
}

size_t host_keys(void) {
    return count;
}

void host_put(const char *key, const char *value) {
    keep(text_of(key), text_of(value));
}

void host_clear(void) {
    while (count > 0) {
        forget(entries);
    }
    host_conflicts = 0;
    host_failure = DRIVEBAY_HOST_STATE_ERROR_CONFLICT;
}
