/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cuda_parts.h"
#include "writer/sort.h"

#include <errno.h>

#define BEFORE 5e9 /* ns before a window in which its GPU work may lie */
#define ROUND  100 /* ns by which a slice's length may differ from CUPTI's */

/* False: no time of this window. */
static bool place(struct trace *t, struct cuda_work *w, uint64_t low, uint64_t high)
{
	struct cuda_clock *clock = &t->cuda->clock;
	uint64_t begin = (uint64_t)w->begin, end = (uint64_t)w->end;
	uint64_t length = end - begin, most = ROUND + length / CUDA_PART, off;

	if (!w->in_ticks) {
		begin = cuda_clock_ticks(clock, begin);
		end = cuda_clock_ticks(clock, end);
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

/* Waits and events know their context only; a graph that began on the host, too. */
static void find_device(const struct trace *t, struct cuda_work *w)
{
	const struct record *r = (const struct record *)cuda_gpu(t, w);
	uint32_t device = (uint32_t)(w->row >> 40 & 0xff);

	if (w->kind == REC_SYNC)
		device = cuda_device_of(t->cuda, ((const struct rec_sync *)r)->context);
	else if (w->kind == REC_EVENT)
		device = cuda_device_of(t->cuda, ((const struct rec_event *)r)->context);
	else if (device == 255)
		device = cuda_device_of(t->cuda, ((const struct rec_gpu *)r)->context);
	w->row = (w->row & ~(0xffull << 40)) | (uint64_t)device << 40;
}

static bool work_before(const void *left, const void *right)
{
	const struct cuda_work *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row;
	if (a->begin != b->begin)
		return a->begin < b->begin;
	return a->end > b->end;
}

int cuda_place(struct trace *t)
{
	struct cuda *c = t->cuda;
	uint64_t low = cuda_clock_later(&c->clock, t->cycle.begin, -BEFORE);
	uint64_t high = cuda_clock_later(&c->clock, t->cycle.end, CUDA_BEHIND);
	size_t n = 0;
	int err;

	for (size_t i = 0; i < c->work.n; i++) {
		struct cuda_work *w = cuda_work_at(c, i);

		if (!place(t, w, low, high)) {
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
	err = c->demangle ? 0 : -ENOMEM;
	if (!err)
		err = sort_merge(c->work.mem, n, sizeof(struct cuda_work), work_before);
	if (!err)
		err = cuda_link(t);
	if (!err)
		err = cuda_events_ready(t);
	if (err)
		return err;
	cuda_shift_waits(c);
	cuda_lanes(c);
	return cuda_snap(t);
}
