/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda - CUDA runtime, driver and NCCL calls that pass through us.
 *
 * Threads  any; what is handed down is called on the program's threads.
 * Memory   static; a table of the kernels' names.
 * Errors   none: the real function always runs with the caller's own arguments; where
 *          it cannot be found the caller gets what it would get without us (the symbol
 *          is then only reachable because we export it: cudaErrorUnknown, 999).
 * Units    ticks.
 *
 * While nothing is wanted a call costs a load, a predicted branch and a jump.
 */
#ifndef CUDA_CUDA_H
#define CUDA_CUDA_H

#include <stdbool.h>
#include <stdint.h>

enum cuda_want {
	CUDA_WANT_MARKS = 1, /* tell begin and end of each call (markers) */
	CUDA_WANT_STACKS = 2, /* in windows: the native stack of launches */
	CUDA_WANT_TIMES = 4, /* in windows: host times, CUPTI cannot be had */
	CUDA_WANT_COLLECTIVES = 8, /* in windows: NCCL calls */
	CUDA_WANT_READY = 16, /* tell when a first call has succeeded */
	CUDA_WANT_LINES = 32, /* in windows: what listener.line says of launches */
};

struct thread;
struct cuda_listener {
	/* A call begins; kernel: the mangled name of what it launches, or NULL. The token
	 * goes to end; 0 = of no interest. */
	uint32_t (*begin)(const char *function, const char *kernel);
	void (*end)(uint32_t token);
	void (*ready)(void); /* cuInit or a first runtime call returned 0 */
	/* cuGetProcAddress gave `real` for `name` to `caller`: what the caller gets
	 * instead (cuda_hooks_driver), NULL = `real`. */
	void *(*driver)(const char *name, void *real, const void *caller);
	/* A launch is being recorded: takes the id of its native stack, or 0, and gives
	 * the id for that and for Python's (stack_pair.h). */
	uint32_t (*line)(struct thread *t, uint32_t native);
};

void cuda_hooks_start(const struct cuda_listener *listener);
/* enum cuda_want; replaces what was wanted. Driver functions that are looked up (dlsym,
 * cuGetProcAddress) are seen only if looked up after marks, stacks or times were wanted
 * for a first time, be it for a moment. */
void cuda_hooks_want(unsigned what);
/* `name` as dlsym or cuGetProcAddress gives it to others: our wrapper for the driver
 * function `real`, or NULL. `caller` inside NVIDIA's own libraries: NULL. */
void *cuda_hooks_driver(const char *name, void *real, const void *caller);
void cuda_hooks_fork_child(void);
bool cuda_hooks_inside(void); /* this thread is inside one of our hooks */

#endif
