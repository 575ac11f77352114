/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - a cycle's heap records as counter tracks, annotations and sums by call site.
 *
 * Threads  one at a time.
 * Memory   an entry for each live block and each (stack, operator) pair; bounded: what
 *          does not fit is summed up as "other" and counted.
 * Errors   NULL without heap records; -ENOMEM.
 * Units    bytes; ns since the epoch. Live = since the window's begin.
 */
#ifndef WRITER_HEAP_H
#define WRITER_HEAP_H

#include "agent/core/spool.h"

struct trace;
struct heap;

/* The option `malloc`. */
enum heap_kept { HEAP_IS_OFF, HEAP_IS_COUNT, HEAP_IS_SAMPLE, HEAP_IS_ALL };

/* How the counts are called in the trace; for the launcher's totals, too. */
extern const char *const heap_count_names[HEAP_COUNTS];

/* Reads the cycle's heap records in order of time. 0, also when there are none. */
int heap_read(struct trace *t);
/* The object "heap" of the file's "proflaunch" (docs/trace.md): before traceEvents. */
void heap_summary(struct trace *t);
/* Counter tracks and the largest allocations, among traceEvents. */
void heap_events(struct trace *t);
void heap_done(struct trace *t);

#endif
