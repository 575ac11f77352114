/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals - what came of a job, summed over its spools: for the lines at the end.
 *
 * Threads  one writes; the launcher reads when it is told that all is there.
 * Memory   plain data: it may lie in memory that processes share.
 * Errors   none.
 * Units    as in spool.h.
 */
#ifndef FINISHER_TOTALS_H
#define FINISHER_TOTALS_H

#include "writer/writer.h"

#include <limits.h>

#define TOTALS_EACH 1000000000000ull /* no process can count more of anything */
#define TOTALS_MOST 1000000000000000ull

struct totals {
	uint32_t spools; /* with records or not: those with a header */
	uint32_t living; /* spools left to their processes */
	uint32_t failed;
	uint32_t lost; /* spools in memory: failed, and gone with the launcher */
	uint32_t unwritten; /* windows not written: the disk was full */
	uint32_t late; /* spools that were not done when the launcher had waited enough */
	uint32_t made; /* files written by the process that sums up */
	uint32_t commanded; /* those of them whose options have an on_trace */
	uint32_t rows; /* processes that are rows of one file */
	uint32_t opened; /* a process of the job had a window */
	uint32_t early; /* files of steps before the plan's first window */
	uint64_t early_step, early_steps; /* the first of them; of one file */
	uint64_t files, steps, windows, missed, locked_out, discarded;
	uint64_t cost_ns; /* of the program's threads; of those libtorch's part: */
	uint64_t torch_ns;
	uint64_t events[REC_KINDS], drops[REC_KINDS], whys[DROP_WHYS];
	/* Of the window that lost the largest share: records that the buffer held, and
	 * those it had no room for. */
	uint64_t held, unheld;
	uint64_t cap; /* bytes of the smallest spool that was full; 0 = none was */
	uint64_t cuda[CUDA_COUNTS], heap[HEAP_COUNTS], python[PYTHON_COUNTS];
	struct writer_merges merges;
	struct flops_total flops;
	uint64_t most; /* boundaries of one process */
	uint64_t boundaries, optimizer_steps, loader_nexts, backwards, marker_hits;
	struct {
		uint64_t visits, steps;
	} stage[STAGES_MOST]; /* of the user's */
	uint64_t heap_rows; /* allocations that files show one by one */
	struct tally seen; /* annotations of processes in which no step ended */
	struct tally processes; /* that have files of their own, by name */
	char chosen[64]; /* the marker of the process with most boundaries */
	char last_file[PATH_MAX]; /* of the process with the most memory seen */
	uint64_t last_peak; /* of that memory */
};

/* Adds what a process counted itself: once, when it is gone. */
void totals_add_header(struct totals *t, const struct spool_header *h);
/* Adds why records were dropped in a window that its process did not write itself; `h`:
 * that process's header, `r`: the window's result. */
void totals_add_window(struct totals *t, const struct spool_header *h,
		       const struct cycle_info *info, const struct writer_result *r);
void totals_add_result(struct totals *t, const struct writer_result *r);

#endif
