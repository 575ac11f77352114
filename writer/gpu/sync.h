/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync - waits of the host and of streams, the events they wait for, and CUDA's own
 * allocations.
 *
 * Threads  one at a time.
 * Memory   24 bytes for each record of an event, in struct cuda.events.
 * Errors   0 or -ENOMEM.
 * Units    ns since the epoch, unless named otherwise.
 */
#ifndef WRITER_GPU_SYNC_H
#define WRITER_GPU_SYNC_H

#include "writer/gpu/rows.h"

struct cuda_event { /* a REC_EVENT */
	uint64_t key; /* context and event id */
	uint64_t ticks; /* of the call that recorded the event */
	uint32_t at; /* offset of the record / 8 */
	uint32_t spare;
};

/* Sorts the events by the calls that recorded them; to be called after gpu_link. */
int gpu_events_ready(struct trace *t);
/* Lets waits for a stream begin where the work they wait for ends. */
void gpu_shift_waits(struct cuda *c);
/* Write whole slices. */
void gpu_put_sync(struct trace *t, const struct cuda_work *w, int64_t begin, int64_t end);
void gpu_put_event(struct trace *t, const struct cuda_work *w, int64_t begin,
		   int64_t end);
/* Writes an instant for each of CUDA's allocations and releases, in the order of
 * records. */
void gpu_instants(struct trace *t);

#endif
