/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each piece of GPU work its time in the file. */
#include "writer/gpu/correlation.h"
#include "writer/gpu/cuda.h"
#include "writer/sort.h"
#include "writer/symbols/demangle.h"

#include <errno.h>

#define BEFORE 5e9 /* ns: how far before a window its GPU work may lie */
#define ROUND  100 /* ns by which a slice's length may differ from CUPTI's */

/* Sets the work's times. False: they do not belong to this window. */
static bool place_work(struct trace *t, struct cuda_work *w, uint64_t low, uint64_t high)
{
	struct cuda_clock *clock = &t->cuda->clock;
	uint64_t begin = (uint64_t)w->begin, end = (uint64_t)w->end;
	uint64_t length = end - begin, most = ROUND + length / CUDA_PART, off;

	if (!w->in_ticks) {
		begin = gpu_clock_ticks(clock, begin);
		end = gpu_clock_ticks(clock, end);
	}
	if (begin < low || begin > high || end > high || end < begin)
		return false;
	w->begin = rows_ns(&t->row.clock, begin);
	w->end = rows_ns(&t->row.clock, end);
	if (w->end < w->begin)
		w->end = w->begin;
	off = (uint64_t)(w->end - w->begin) - length;
	if (!w->in_ticks && off + most <= 2 * most)
		w->end = w->begin + (int64_t)length;
	return true;
}

/* Sets the device from the context for waits and events, which know no device, and for a
 * graph that began on the host. */
static void find_device(const struct trace *t, struct cuda_work *w)
{
	const struct record *r = (const struct record *)cuda_gpu(t, w);
	uint32_t device = cuda_row_device(w->row);

	if (w->kind == REC_SYNC)
		device = gpu_device_of(t->cuda, ((const struct rec_sync *)r)->context);
	else if (w->kind == REC_EVENT)
		device = gpu_device_of(t->cuda, ((const struct rec_event *)r)->context);
	else if (device == 255)
		device = gpu_device_of(t->cuda, ((const struct rec_gpu *)r)->context);
	w->row = (w->row & ~(0xffull << 40)) | (uint64_t)device << 40;
}

/* Work sorts by row and begin; of two that begin together the longer one, which lies
 * around the other, comes first. */
static bool work_before(const void *left, const void *right)
{
	const struct cuda_work *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row;
	if (a->begin != b->begin)
		return a->begin < b->begin;
	return a->end > b->end;
}

/* Each part needs the one before it: times, rows, calls, events, then lanes, and last the
 * edges of calls. */
int gpu_place(struct trace *t)
{
	struct cuda *c = t->cuda;
	uint64_t low = gpu_clock_later(&c->clock, t->cycle.begin, -BEFORE);
	uint64_t high = gpu_clock_later(&c->clock, t->cycle.end, CUDA_BEHIND);
	size_t n = 0;
	int err;

	for (size_t i = 0; i < c->work.n; i++) {
		struct cuda_work *w = cuda_work_at(c, i);

		if (!place_work(t, w, low, high)) {
			c->known[CUDA_OUTSIDE]++;
			continue;
		}
		find_device(t, w);
		if (w->kind <= REC_GRAPH && w->end > c->last)
			c->last = w->end;
		*cuda_work_at(c, n++) = *w;
	}
	c->work.n = n;
	c->demangle = demangle_new();
	if (!c->demangle)
		return -ENOMEM;
	err = sort_merge(c->work.mem, n, sizeof(struct cuda_work), work_before)
		?: gpu_link(t) ?: gpu_events_ready(t);
	if (err)
		return err;
	gpu_shift_waits(c);
	gpu_lanes(c);
	return gpu_snap(t);
}
