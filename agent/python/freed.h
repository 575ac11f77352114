/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freed - has any code object gone?  What was kept by an address may be of other code
 * then.
 *
 * The type `code` has a pointer to the function that frees its objects. While a window is
 * open that is ours, which counts and calls the interpreter's own.
 *
 * Threads  any.  Who unwatches found the gate closed: the holder of the scheduler's lock,
 *          or one that looks again afterwards.
 * Memory   static.
 * Errors   freed_find: false where the type is not what is expected.
 * Units    none.
 */
#ifndef PYTHON_FREED_H
#define PYTHON_FREED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FREED_KEPT 64 /* addresses that are remembered */

extern _Atomic uint32_t freed_objects;

bool freed_find(void);
void freed_watch(void);
void freed_unwatch(void);

/* Another number than before: something has gone in between. The interpreter's lock
 * orders it: code made at an old address is not executed before the old one was counted.
 */
static inline uint32_t freed_now(void)
{
	return atomic_load_explicit(&freed_objects, memory_order_relaxed);
}

/* Where the code objects lay that have gone since *seen, which is brought up to now. -1:
 * they are more than are remembered. */
int freed_since(uint32_t *seen, const void *gone[FREED_KEPT]);
void freed_add(const void *code);

#endif
