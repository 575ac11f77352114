/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules - which mapped object holds an address, and where that object's tables lie.
 *
 * Threads  any, also in signal handlers; no lock, no malloc.
 * Memory   the arena: a module is never freed, as walks of other threads point to it.
 * Errors   NULL, false or 0: no object, or no memory.  errno is kept.
 * Units    addresses.
 */
#ifndef UNWIND_MODULES_H
#define UNWIND_MODULES_H

#include "agent/unwind/tables.h"

#include <stdatomic.h>

struct unwind_module {
	uintptr_t begin, end; /* mapped */
	uintptr_t bias;
	struct unwind_tables tables; /* count 0: it has none */
	_Atomic uint64_t id; /* stacks_epoch, id of stacks_module() */
	_Atomic uint32_t epoch; /* unwind_epoch when this was looked at last */
	struct unwind_module *next;
	uint8_t build_id[20];
	uint8_t build_id_len;
	const char *name, *path; /* as the linker says; with the directory */
};

extern _Atomic uint32_t unwind_epoch; /* changes when something may have been unmapped */
struct unwind_object;
extern int (*unwind_find_object)(void *pc, struct unwind_object *result); /* or NULL */
void unwind_find_start(void);
/* The object that holds `pc`, a code address of the calling thread's own stack; NULL: no
 * object's. */
struct unwind_module *unwind_find(uintptr_t pc);
/* Does the dynamic linker, asked now, still say that `m` holds `pc`? */
bool unwind_find_holds(const struct unwind_module *m, uintptr_t pc);
uint32_t unwind_module_id(struct unwind_module *m); /* its id in the spool, 0 = no room */

#endif
