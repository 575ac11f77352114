/* SPDX-License-Identifier: Apache-2.0 */
/*
 * correlation - each piece of GPU work and its call: CUPTI gives both the same id.
 *
 * Threads  one at a time.
 * Memory   6 bytes for each call: open addressing, two slots of three taken.
 * Errors   0 or -ENOMEM; work without its call is counted (CUDA_UNMATCHED).
 * Units    none.
 */
#ifndef WRITER_GPU_CORRELATION_H
#define WRITER_GPU_CORRELATION_H

#include <stdbool.h>
#include <stdint.h>

struct trace;

/* Joins work and stacks to calls, and counts calls and work without the other. To be
 * called once. */
int gpu_link(struct trace *t);
/* The outermost call of that id; NULL: it was not seen. `hook`: an id of the agent's own
 * hooks, not of CUPTI's. To be called after gpu_link. */
struct cuda_call *gpu_find(const struct trace *t, uint32_t correlation, bool hook);

#endif
