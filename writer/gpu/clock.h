/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - CUPTI's clock in ticks of the window's own.
 *
 * The agent reads both clocks at moments (REC_MOMENT). Between two of them a straight
 * line holds; before the first, behind the last and without any, the window's own rate
 * holds, as the rates of CUPTI's clock and the system's differ by one part in CUDA_PART
 * at most.
 *
 * Threads  one at a time.
 * Memory   40 bytes for each moment, in `moments`; gpu_free gives them back.
 * Errors   0 or -ENOMEM; a moment that cannot be right is left out.
 * Units    ns as CUPTI counts them in, ticks of the spool's clock out.
 */
#ifndef WRITER_GPU_CLOCK_H
#define WRITER_GPU_CLOCK_H

#include "agent/core/record_gpu.h"
#include "agent/core/spool.h"
#include "writer/pile.h"

#define CUDA_PART 65536 /* the clocks' rates differ by one part in so many */

struct cuda_clock {
	struct pile moments; /* struct moment, by time */
	size_t all; /* moments that were recorded, good or not */
	size_t hit; /* the moment used last */
	double per_tick; /* ns; holds before, behind and without moments */
	uint64_t error; /* ticks; how far a time may be off */
	uint64_t ticks; /* without any moment: at this tick ... */
	int64_t ns; /* ... it was this time */
};

int gpu_clock_add(struct cuda_clock *c, const struct rec_moment *m);
/* Once all moments are there: chooses the good ones for the window [begin, end], given in
 * ticks. */
int gpu_clock_ready(struct cuda_clock *c, const struct spool_header *head, uint64_t begin,
		    uint64_t end);
/* The tick at CUPTI's time `ns`; any ns gives some tick. Needs gpu_clock_ready. */
uint64_t gpu_clock_ticks(struct cuda_clock *c, uint64_t ns);
/* The tick `ns` after `ticks`, or before it where `ns` is negative; 0 at the least. */
uint64_t gpu_clock_later(const struct cuda_clock *c, uint64_t ticks, double ns);

#endif
