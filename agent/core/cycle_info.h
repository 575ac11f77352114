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
#include "agent/core/cycle_counts.h"
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
		 DROP_LOCKED, /* came while mlockall or setrlimit changed the spool */
		 DROP_WHYS
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
	CYCLE_EARLY = 16, /* before the first one of the user's plan, and provisional */
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
	uint32_t stage; /* number of the user's that it belongs to; 0: of none */
	_Atomic uint64_t cuda[CUDA_COUNTS];
	_Atomic uint64_t heap[HEAP_COUNTS];
	_Atomic uint64_t python[PYTHON_COUNTS];
	uint64_t heap_base[SPOOL_COUNTERS]; /* sum of the counters when it began */
};

#endif
