/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - a cycle's heap records as counter tracks, annotations and sums by call site.
 *
 * Threads  one at a time.
 * Memory   an entry for each live block and each (stack, operator) pair; bounded: sites
 *          that do not fit are summed up as "other" and counted.
 * Errors   0 or -ENOMEM; t->heap stays NULL without heap records.
 * Units    bytes; ns since the epoch. Live = since the window's begin; with
 *          malloc_since=start since the program's.
 */
#ifndef WRITER_HEAP_HEAP_H
#define WRITER_HEAP_HEAP_H

struct trace;
struct heap;

/* How many samples of the process the finisher took in the window. */
uint64_t heap_seen(const struct trace *t);
/* Reads the cycle's heap records by time. 0 also when there are none. */
int heap_read(struct trace *t);
/* Chooses what will be written one by one, and notes its native stacks, so that their
 * frames get names; heap_name, once they have them, makes the file's stacks. */
int heap_choose(struct trace *t);
int heap_name(struct trace *t);
/* The most bytes that the process held, in the heap or in the tensors of one device. */
uint64_t heap_peak(const struct trace *t);
/* Fills the row of a process that gets no file. */
struct writer_small;
void heap_small(const struct trace *t, struct writer_small *s);
/* Writes the object "heap" of the file's "proflaunch" (docs/trace.md): before
 * traceEvents. */
void heap_summary(struct trace *t);
/* Writes counter tracks and the largest allocations, among traceEvents. */
void heap_events(struct trace *t);
void heap_done(struct trace *t);

#endif
