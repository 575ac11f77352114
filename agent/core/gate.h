/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate - is a window open, and which.  Hot path.
 *
 * Threads  gate_cycle: any.  gate_set: the holder of the scheduler's lock; a fork child,
 *          and a thread that ends recording for good, close the gate without it.
 * Memory   one page that the kernel wipes in every child (MADV_WIPEONFORK), so
 *          that no child can ever append to its parent's chunks.
 * Errors   gate_start: -ENOMEM.  Where the kernel cannot wipe the page (before Linux
 *          4.14) the atfork handler closes the gate.
 * Units    the value is the open cycle's number; 0 = closed.
 */
#ifndef CORE_GATE_H
#define CORE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
	_Atomic uint64_t cycle; /* open cycle, 0 = closed */
	_Atomic uint64_t cycle_at; /* spool offset of its struct cycle_info's chunk */
	_Atomic uint64_t alive; /* 1 in the process that began, 0 in a fresh child */
};
extern struct gate *gate; /* points to a static closed gate until gate_start */

int gate_start(void);
static inline uint64_t gate_cycle(void)
{
	return atomic_load_explicit(&gate->cycle, memory_order_acquire);
}
void gate_set(uint64_t cycle, uint64_t cycle_at);

/* Makes all other threads' plain stores and loads visible in order (membarrier). */
void gate_barrier(void);
extern bool gate_fences; /* true where membarrier cannot be had: emit must fence */

#endif
