/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moments - moments at which CUPTI's clock and ours were read together.
 *
 * Threads  the consumer.
 * Memory   the newest ones; static.
 * Errors   0: no moment is known yet.
 * Units    ns of CUPTI's clock, ticks of ours (clock.h).
 */
#ifndef CUPTI_FLOW_MOMENTS_H
#define CUPTI_FLOW_MOMENTS_H

#include "agent/core/gpu_chunk.h"
#include "agent/core/record_gpu.h"

const struct rec_moment *moments_take(void); /* CUPTI's time and ours, now */
/* Write a moment into a window's records; replay: the newest. */
void moments_write(struct side *side, const struct rec_moment *m);
void moments_replay(struct side *side);
uint64_t moments_ns(uint64_t ticks); /* ticks as CUPTI tells time */
uint64_t moments_now(void); /* CUPTI's time, to a millisecond or so */
void moments_fork_child(void);

#endif
