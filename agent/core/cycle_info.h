/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycle_info - one recording window as it lies in the spool.
 *
 * Threads  its process's threads count into it; its states say whose it is.
 * Memory   in a chunk of kind CHUNK_CYCLE.
 * Errors   none.
 * Units    ticks, unless the name says _ns.
 */
#ifndef CORE_CYCLE_INFO_H
#define CORE_CYCLE_INFO_H

#include "agent/core/cost_kind.h"
#include "agent/core/record.h"

#include <stdatomic.h>
#include <stdint.h>

#define SPOOL_COUNTERS 4 /* allocs, allocated, frees, freed */

enum drop_kind { /* why records were lost, besides their own kind */
		 DROP_CAP, /* no room under buffer_mb */
		 DROP_LATE, /* came after the writer had taken the cycle */
		 DROP_NESTED, /* an event inside our own emit (signal handler) */
		 DROP_DEAD, /* the thread's state was already gone */
		 DROP_NAMES, /* the name table was full: the event is there, its name is
				not */
		 DROP_START, /* came while recording began, which took too long */
		 DROP_BOUNDARY, /* no record: a step's end whose lock was not to be had */
		 DROP_CONFINED, /* no room left that was made ready before seccomp */
		 DROP_GROUP, /* the heap's: the control group is nearly full */
		 DROP_WHYS
};

/* What is known to be missing or odd in a window's GPU part. */
enum cuda_count {
	CUDA_DROPPED, /* records that CUPTI says it dropped */
	CUDA_DISCARDED, /* records that came into a buffer of last resort */
	CUDA_LATE, /* came after the file was written */
	CUDA_ZERO, /* kernels, copies, sets without a time */
	CUDA_REVERSED, /* their end lies before their begin */
	CUDA_UNMATCHED, /* GPU work whose call was not seen */
	CUDA_OLDER, /* ... and that was asked for before the window: not in it */
	CUDA_MISSING, /* calls that launched, whose GPU work never came */
	CUDA_OUTSIDE, /* times that cannot be: far outside of the window */
	CUDA_UNDECODED, /* buffers that could not be read to their end */
	CUDA_AMBIGUOUS, /* calls so near an operator's edge that the clocks cannot tell */
	CUDA_EARLY, /* GPU work that seems to begin before its call */
	CUDA_GAPS, /* times CUPTI was in other hands, or not on yet */
	CUDA_GAP_NS, /* ... and how long, all together */
	CUDA_UNFETCHED, /* 1: settled before CUPTI had given back all of its records */
	CUDA_CROWDED, /* 1: the same, as too many windows waited for CUPTI at once */
	CUDA_UNNAMED, /* calls, kernels and devices whose name was not kept */
	CUDA_COUNTS
};

/* What is known of the heap's records in a window, besides drops. */
enum heap_count {
	HEAP_STACKS, /* stacks taken */
	HEAP_CUT, /* deeper than stack_depth: the outer frames are not there */
	HEAP_ENDED, /* the walk met code without unwind tables, or made at run time */
	HEAP_FOREIGN, /* on a signal's or coroutine's stack: ended at its edge */
	HEAP_CHECKED, /* walked a second time from the unwind tables alone ... */
	HEAP_DISAGREED, /* ... with another result */
	HEAP_UNKNOWN_STACK, /* no room for a new stack: the event is there without one */
	HEAP_COUNTS
};

/* Does the writer have to wait for GPU work of this cycle? */
enum cycle_cuda { CUDA_NONE, CUDA_PENDING, CUDA_SETTLED };

/*
 * A window's way.  Its process: OPEN, then SEALED or DISCARDED.  With a finisher, its
 * process's keeper: QUIET, once no thread writes to the window any more and its chunks
 * are taken; the finisher: WRITTEN or BROKEN; the keeper then gives its chunks back.
 * Without one, the process's own writer: WRITTEN.
 */
enum cycle_state {
	CYCLE_NONE,
	CYCLE_OPEN,
	CYCLE_SEALED,
	CYCLE_WRITTEN,
	CYCLE_DISCARDED,
	CYCLE_QUIET, /* waits for the finisher to write it */
	CYCLE_BROKEN /* its file could not be made: recover may try */
};
enum cycle_flag {
	CYCLE_PROVISIONAL = 1, /* taken before the first boundary; may be discarded */
	CYCLE_CHILD = 2, /* follows an ancestor's window: goes to children/ */
	CYCLE_WHOLE = 4, /* from start to end, no steps: marker none, a heap alone */
	CYCLE_TIMED = 8, /* boundaries come from the clock: no thread owns its steps */
};

/* One recording window; lies at the start of a chunk of its own. */
struct cycle_info {
	uint64_t number; /* 1, 2, ... within the process */
	_Atomic uint32_t state; /* enum cycle_state */
	uint32_t flags; /* enum cycle_flag */
	uint64_t begin, end; /* ticks; end 0 while open */
	int64_t stamp_ns; /* epoch ns in the file name, unique in the process */
	int64_t first_step; /* ProfilerStep number of the first step, -1 = none */
	_Atomic uint64_t drops[REC_KINDS]; /* by kind */
	_Atomic uint64_t whys[DROP_WHYS]; /* the same drops, by reason */
	_Atomic uint64_t faulted; /* chunks a host thread had to fault in itself */
	struct cost_sum cost[COST_KINDS]; /* time of the program's threads that we took */
	_Atomic uint64_t rare_ns; /* ... by what is seldom (core/rare.h) */
	_Atomic uint32_t cuda_state; /* enum cycle_cuda */
	uint32_t spare;
	_Atomic uint64_t cuda[CUDA_COUNTS];
	_Atomic uint64_t heap[HEAP_COUNTS];
	uint64_t heap_base[SPOOL_COUNTERS]; /* sum of the counters when it began */
};

#endif
