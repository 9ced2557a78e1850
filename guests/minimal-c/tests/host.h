// A host in memory: it stands in for the functions of the contract's `state`, and for the log.
//
// It keeps what the contract promises (a commit is all or nothing), not the host's limits. The linker puts it in the
// place of the generated functions (`--wrap` in the Makefile).

#pragma once

#include <stddef.h>

#include "backend.h"

// So many commits fail as if other calls had been faster.
extern unsigned host_conflicts;

// What the next commit fails with; not a conflict: nothing.
extern uint8_t host_failure;

// How many keys there are.
size_t host_keys(void);

// Writes a text, as another version of the code may have done.
void host_put(const char *key, const char *value);

// Forgets everything.
void host_clear(void);
