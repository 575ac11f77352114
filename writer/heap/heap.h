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
#ifndef WRITER_HEAP_HEAP_H
#define WRITER_HEAP_HEAP_H

struct trace;
struct heap;

/* How often the finisher looked at the process in the window. */
uint64_t heap_seen(const struct trace *t);
/* Reads the cycle's heap records in order of time. 0, also when there are none. */
int heap_read(struct trace *t);
/* What its call stacks mean: for those that are written. After heap_read. */
int heap_name(struct trace *t);
/* The most that it held, in the heap or in the tensors of one device. */
uint64_t heap_peak(const struct trace *t);
/* What a process was that is told of in a row only. */
struct writer_small;
void heap_small(const struct trace *t, struct writer_small *s);
/* The object "heap" of the file's "proflaunch" (docs/trace.md): before traceEvents. */
void heap_summary(struct trace *t);
/* Counter tracks and the largest allocations, among traceEvents. */
void heap_events(struct trace *t);
void heap_done(struct trace *t);

#endif
