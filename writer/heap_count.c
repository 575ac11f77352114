/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cuda_parts.h"
#include "writer/heap_parts.h"
#include "writer/sort.h"

#include <errno.h>

#define RATE_NS    20000000 /* calls are counted for as long as this ... */
#define RATE_LEAST 1000000 /* ... or from one REC_HEAP to the next, but not less */

struct moment { /* a REC_HEAP or a REC_BLOCK */
	uint64_t ticks, at;
};

static bool earlier(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	return a->ticks < b->ticks;
}

/* ---- rates ---- */

/* A point where the stretch began that it is about. */
static int put_rate(struct heap *h, int64_t begin, int64_t ns)
{
	struct heap_rate *r = &h->rate;
	double seconds = (double)(ns - r->from) / 1e9;
	struct heap_point p = { r->from, { 0, 0 } };

	p.value[0] = (int64_t)((double)r->allocs / HEAP_ONE / seconds + 0.5);
	p.value[1] = (int64_t)((double)r->frees / HEAP_ONE / seconds + 0.5);
	*r = (struct heap_rate){ .from = ns };
	return heap_track_add(&h->calls, begin, p);
}

int heap_rate_add(struct heap *h, int64_t begin, int64_t ns, uint64_t allocs,
		  uint64_t frees)
{
	struct heap_rate *r = &h->rate;
	int err = 0;

	if (!r->from)
		r->from = begin;
	if (ns - r->from >= RATE_NS) {
		/* Nothing came for a while: that is a stretch of its own. */
		err = put_rate(h, begin, r->from + RATE_NS);
		if (!err && ns - r->from >= RATE_NS)
			err = put_rate(h, begin, ns);
	}
	r->allocs += allocs;
	r->frees += frees;
	return err;
}

int heap_rate_end(struct heap *h, int64_t begin, int64_t end)
{
	bool count = h->mode == HEAP_IS_COUNT;
	int err = count ? 0 : heap_rate_add(h, begin, end, 0, 0);

	if (err || !h->rate.from || end <= h->rate.from)
		return err;
	err = count ? 0 : put_rate(h, begin, end);
	return err ? err : heap_track_add(&h->calls, begin, (struct heap_point){ end });
}

/* ---- REC_HEAP ---- */

/* What is said as the window opens or closes lies at its edge. */
static uint64_t in_window(const struct trace *t, uint64_t ticks)
{
	return ticks < t->cycle.begin ? t->cycle.begin
	       : ticks > t->cycle.end ? t->cycle.end
				      : ticks;
}

static int sorted(const struct trace *t, struct pile *moments)
{
	const uint64_t *at = t->cycle.counters.mem;

	for (size_t i = 0; i < t->cycle.counters.n; i++) {
		const struct record *r = (const struct record *)(t->view->base + at[i]);
		struct moment *m;

		m = pile_push(moments, sizeof(*m));
		if (!m)
			return -ENOMEM;
		*m = (struct moment){ in_window(t, r->begin), at[i] };
	}
	return sort_merge(moments->mem, moments->n, sizeof(struct moment), earlier);
}

/* The agent counts from the window's begin, or from the program's start: then only what
 * is live does. */
static int count(struct trace *t, const struct rec_heap *r, const struct rec_heap *base,
		 uint64_t ticks)
{
	struct heap *h = t->heap;
	int64_t begin = t->row.begin_ns, ns = row_instant(&t->row, ticks);
	struct heap_sums was = h->all;
	int err;

	heap_sum_until(h, ticks);
	h->all.allocs = (r->allocs - base->allocs) * HEAP_ONE;
	h->all.frees = (r->frees - base->frees) * HEAP_ONE;
	h->all.bytes = r->allocated - base->allocated;
	h->all.freed = h->all.bytes - (uint64_t)(r->live - base->live);
	if (t->config->malloc_since) {
		h->older = base->live;
		h->older_blocks = (int64_t)(base->allocs - base->frees);
	}
	if (heap_now(h) > h->peak) {
		h->peak = heap_now(h);
		h->peak_ticks = ticks;
	}
	err = heap_track_add(&h->live, begin, (struct heap_point){ ns, { heap_now(h) } });
	h->rate.allocs += h->all.allocs - was.allocs;
	h->rate.frees += h->all.frees - was.frees;
	if (!h->rate.from)
		h->rate.from = ns;
	if (!err && ns - h->rate.from >= RATE_LEAST)
		err = put_rate(h, begin, ns);
	return err;
}

int heap_counters(struct trace *t)
{
	struct pile moments = { 0 };
	int err = sorted(t, &moments);
	const struct moment *m = moments.mem;
	static const struct rec_heap zero;
	const struct rec_heap *first = t->config->malloc_since ? NULL : &zero;
	struct heap *h = t->heap;

	for (size_t i = 0; !err && i < moments.n; i++) {
		const struct rec_heap *r =
			(const struct rec_heap *)(t->view->base + m[i].at);
		int64_t ns = row_instant(&t->row, m[i].ticks);

		if (r->r.flags & HEAP_HAS_RSS)
			err = heap_track_add(
				&h->rss, t->row.begin_ns,
				(struct heap_point){ ns, { (int64_t)r->rss } });
		if (err || !(r->r.flags & HEAP_HAS_COUNTS) || h->mode != HEAP_IS_COUNT)
			continue;
		first = first ? first : r;
		err = count(t, r, first, m[i].ticks);
	}
	pile_free(&moments);
	return err;
}

/* ---- CUDA's own memory ---- */

#define CUDA_DEVICE_MEMORY 3 /* CUPTI's memory kind */

static int device_change(struct trace *t, struct heap_blocks *seen, int64_t *live,
			 const struct rec_block *b, const struct moment *m)
{
	struct heap_block mine = { b->address, (uint32_t)(m->at / 8), 0 }, was;
	int err = 0;

	if (b->memory != CUDA_DEVICE_MEMORY || b->device >= HEAP_DEVICES)
		return 0;
	if (b->operation == 1) {
		err = heap_blocks_put(seen, mine, &was);
		*live += (int64_t)(b->bytes % HEAP_MOST);
	} else {
		was = heap_blocks_take(seen, b->address);
	}
	/* One that is older than the window is not in the sum. */
	if (!err && was.at)
		*live -= (int64_t)(((const struct rec_block *)cuda_record(
					    t, (uint64_t)was.at * 8))
					   ->bytes %
				   HEAP_MOST);
	if (err || (b->operation != 1 && !was.at))
		return err;
	return heap_track_add(
		&t->heap->device[b->device], t->row.begin_ns,
		(struct heap_point){ row_instant(&t->row, m->ticks), { *live } });
}

int heap_device(struct trace *t)
{
	int64_t live[HEAP_DEVICES] = { 0 };
	const uint64_t *at = t->cuda->blocks.mem;
	struct pile moments = { 0 };
	struct heap_blocks seen = { 0 };
	struct moment *m;
	int err = 0;

	for (size_t i = 0; i < t->cuda->blocks.n; i++) {
		const struct record *r = cuda_record(t, at[i]);
		uint64_t ticks = cuda_clock_ticks(&t->cuda->clock, r->begin);

		m = pile_push(&moments, sizeof(*m));
		if (!m) {
			err = -ENOMEM;
			break;
		}
		*m = (struct moment){ ticks < t->cycle.end ? ticks : t->cycle.end,
				      at[i] };
	}
	m = moments.mem;
	if (!err)
		err = sort_merge(m, moments.n, sizeof(*m), earlier);
	for (size_t i = 0; !err && i < moments.n; i++) {
		const struct rec_block *b = cuda_record(t, m[i].at);

		err = device_change(t, &seen, &live[b->device % HEAP_DEVICES], b, &m[i]);
	}
	heap_blocks_free(&seen);
	pile_free(&moments);
	return err;
}
