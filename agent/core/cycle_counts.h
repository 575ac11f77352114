/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycle_counts - what a window counts besides its records and drops.
 *
 * Threads  its process's threads count; the writer counts what it finds.
 * Memory   in struct cycle_info.
 * Errors   none.
 * Units    ns where the name says _NS.
 */
#ifndef CORE_CYCLE_COUNTS_H
#define CORE_CYCLE_COUNTS_H

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

/* What is known of a window's Python stacks. */
enum python_count {
	PYTHON_CHECKED, /* compared with the interpreter's own answer ... */
	PYTHON_DISAGREED, /* ... and another one */
	PYTHON_CUT, /* deeper than 512 frames: the outer ones are not there */
	PYTHON_UNKNOWN, /* no room for a new stack: the event is there without one */
	PYTHON_UNPROVEN, /* a frame that executes no code object: the same */
	PYTHON_LINELESS, /* allocations without the interpreter's lock: the same */
	/* No counts, from here on. Ticks: small objects are recorded since then; 0: not.
	 */
	PYTHON_OBJECTS,
	PYTHON_EXCHANGED, /* 1: another tool took our allocators away meanwhile */
	PYTHON_UNSEEN, /* 1: they could not be recorded when a thread allocated */
	/* A count: modules that threads were in when it opened, and that are not there.
	 */
	PYTHON_LEFT_OUT,
	PYTHON_DEEP, /* calls of functions that lie too deep: they are not there */
	PYTHON_FUNCTIONS, /* ticks: functions are recorded since then; 0: not */
	PYTHON_AWAY, /* threads whose functions another tool is told of */
	PYTHON_EVENTS, /* ticks: the same of collections and imports */
	PYTHON_LOCK, /* 1: waits for the lock are recorded */
	PYTHON_C_CALLS, /* ticks: calls of C functions are recorded since then; 0: not */
	PYTHON_COUNTS
};

#endif
