/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters - what each thread has allocated and freed, in the spool, where the finisher
 * can sum it while the process runs.
 *
 * Threads  counters_take: any, lock-free; a slot is written by one thread.
 * Memory   64 bytes for each struct thread, in chunks of kind CHUNK_COUNTERS.
 * Errors   NULL: there is no room, or no spool yet.
 * Units    allocations, bytes, frees, bytes.
 */
#ifndef CORE_COUNTERS_H
#define CORE_COUNTERS_H

#include "agent/core/chunk.h"

struct spool_counters *counters_take(void);
/* Sums of all slots, those of threads that have gone, too. */
void counters_sum(uint64_t sum[SPOOL_COUNTERS]);

#endif
