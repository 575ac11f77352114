/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds - which memory a walk may load from: the stack that it is on.
 *
 * Threads  any, also in signal handlers; each thread finds its own bounds once.
 * Memory   thread-local.
 * Errors   none: the bounds of a stack that nobody tells are one page.  errno is kept.
 * Units    addresses.
 */
#ifndef UNWIND_BOUNDS_H
#define UNWIND_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

struct unwind_bounds {
	uintptr_t lo, end;
};
void unwind_bounds_start(void);
/* What may be loaded from, going up from `sp`: *foreign when that is not the thread's
 * own stack. */
struct unwind_bounds unwind_bounds(uintptr_t sp, bool *foreign);
extern __thread struct unwind_bounds unwind_own
	__attribute__((tls_model("initial-exec")));

#endif
