/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count - what each thread has allocated and freed: malloc=count.
 *
 * Threads  any, in any state; a signal handler may count in the middle of a count.
 * Memory   the thread's slot in the spool (counters.h); for those without one, static.
 * Errors   none.
 * Units    calls, and usable bytes.
 */
#ifndef HEAP_COUNT_H
#define HEAP_COUNT_H

#include "agent/core/spool.h"

/* Index of a sum: calls, and the usable bytes of their blocks behind each. */
enum { COUNT_ALLOCS, COUNT_ALLOCATED, COUNT_FREES, COUNT_FREED };
/* All threads' sums since the process, or its fork, began. */
void heap_sum(uint64_t sum[SPOOL_COUNTERS]);
void heap_sum_forget(void); /* in a fork's child */
/* Counts one call. what: COUNT_ALLOCS or COUNT_FREES. */
void heap_count(unsigned what, size_t usable);
size_t heap_usable(void *p); /* p: not NULL */
/* malloc and free as a whole, for HEAP_COUNT and a thread without a guard. p: not NULL.
 */
void *heap_malloc_counted(size_t size);
void heap_free_counted(void *p);
/* malloc is glibc's: from now on the sizes in its blocks' headers are tried. */
void heap_sizes_try(void);

#endif
