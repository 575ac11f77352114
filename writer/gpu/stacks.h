/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks - the call stacks of CUDA's calls, native and Python's.
 *
 * Threads  one at a time.
 * Memory   24 bytes a stack in struct cuda.stacks.
 * Errors   a stack that is not in the spool reads as an empty one.
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

/* Writes the call's stacks as python_stacks does; the call must have one. */
void gpu_put_stacks(struct trace *t, const struct cuda_call *call);

#endif
