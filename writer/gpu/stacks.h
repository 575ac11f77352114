/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks - the call stacks of CUDA's calls, native and Python's.
 *
 * Threads  one at a time.
 * Memory   24 bytes a stack in struct cuda.stacks, and what symbols.h keeps.
 * Errors   0 or -ENOMEM; a stack that is not in the spool reads as an empty one.
 * Units    ticks.
 */
#ifndef WRITER_GPU_STACKS_H
#define WRITER_GPU_STACKS_H

#include <stdint.h>

struct cuda_call;
struct trace;

struct cuda_stack { /* a REC_STACK */
	uint64_t ticks, at;
	uint32_t tid, taken;
};

/* Resolves all frames at once; to be called before any stack is written. */
int gpu_stacks_ready(struct trace *t);
/* Writes "Call stack" with a comma behind it, if Python's is known; the call must have a
 * stack. */
void gpu_put_lines(struct trace *t, const struct cuda_call *call);
/* Writes the native one with a comma in front, if it is known: "Call stack", and beside
 * Python's "Native call stack"; the call must have a stack. */
void gpu_put_stack(struct trace *t, const struct cuda_call *call);

#endif
