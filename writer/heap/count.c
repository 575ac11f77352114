/* SPDX-License-Identifier: Apache-2.0 */
/* The counter tracks: live bytes, resident memory, device memory. */
#include "agent/core/record_cuda.h"
#include "writer/heap/account.h"
#include "writer/sort.h"

#include <errno.h>

#define RATE_NS    20000000 /* calls are counted over such stretches ... */
#define RATE_LEAST 1000000 /* ... or from one REC_HEAP to the next, but not less */

static bool record_before(const void *left, const void *right)
{
	const struct timed_record *a = left, *b = right;

	return a->ticks < b->ticks;
}

/* ---- rates ---- */

/* Adds the rate of the stretch that ends at `ns`, as a point where the stretch began. */
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
		/* After a pause the counted stretch ends at RATE_NS, and the pause is its
		 * own stretch. */
		err = put_rate(h, begin, r->from + RATE_NS);
		if (!err && ns - r->from >= RATE_NS)
			err = put_rate(h, begin, ns);
	}
	r->allocs += allocs;
	r->frees += frees;
	return err;
}

/* Ends the track with a point of zeros at the window's end. In mode count no counters
 * come behind the last stretch, so it is left out. */
int heap_rate_end(struct heap *h, int64_t begin, int64_t end)
{
	bool count = h->mode == MALLOC_COUNT;
	int err = count ? 0 : heap_rate_add(h, begin, end, 0, 0);

	if (err || !h->rate.from || end <= h->rate.from)
		return err;
	err = count ? 0 : put_rate(h, begin, end);
	return err ? err : heap_track_add(&h->calls, begin, (struct heap_point){ end });
}

/* ---- REC_HEAP ---- */

/* Marks an index into the finisher's samples, which have no place in the spool. */
#define SEEN (1ull << 63)

/* Is the sample of this window? The finisher looks at a process all the time. */
static bool is_within(const struct trace *t, const struct rec_heap *r)
{
	return r->r.begin >= t->cycle.begin && r->r.begin <= t->cycle.end;
}

uint64_t heap_seen(const struct trace *t)
{
	uint64_t n = 0;

	for (size_t i = 0; t->plan && i < t->plan->seen_n; i++)
		n += is_within(t, &t->plan->seen[i]);
	return n;
}

/* The record in the spool, or the finisher's sample (SEEN). */
static const struct rec_heap *counters_at(const struct trace *t, uint64_t at)
{
	return at & SEEN ? &t->plan->seen[at & ~SEEN]
			 : (const struct rec_heap *)(t->view->base + at);
}

static int add_seen(const struct trace *t, struct pile *records)
{
	for (size_t i = 0; t->plan && i < t->plan->seen_n; i++) {
		const struct timed_record m = { t->plan->seen[i].r.begin, i | SEEN };

		if (is_within(t, &t->plan->seen[i]) && pile_add(records, &m, sizeof(m)))
			return -ENOMEM;
	}
	return 0;
}

/* The finisher's samples count from the program's start: here from the window's begin,
 * unless malloc_since=start. */
static struct rec_heap rebase_counters(const struct trace *t, uint64_t at)
{
	const uint64_t *base = t->info->heap_base;
	struct rec_heap r = *counters_at(t, at);

	if (at & SEEN && !t->config->malloc_since) {
		r.allocs -= base[0];
		r.allocated -= base[1];
		r.frees -= base[2];
		r.live -= (int64_t)(base[1] - base[3]);
	}
	return r;
}

static int collect_counters(const struct trace *t, struct pile *records)
{
	const uint64_t *at = t->cycle.counters.mem;

	for (size_t i = 0; i < t->cycle.counters.n; i++) {
		const struct record *r = (const struct record *)(t->view->base + at[i]);
		const struct timed_record m = { read_in_window(&t->cycle, r->begin),
						at[i] };

		if (pile_add(records, &m, sizeof(m)))
			return -ENOMEM;
	}
	if (add_seen(t, records))
		return -ENOMEM;
	return sort_merge(records->mem, records->n, sizeof(struct timed_record),
			  record_before);
}

/* Takes over counters. Without malloc_since=start they count from the window's begin;
 * with it from the program's start: then `base`, the window's first, is subtracted, and
 * only its live bytes stay, as older ones. */
static int apply_counters(struct trace *t, const struct rec_heap *r,
			  const struct rec_heap *base, uint64_t ticks)
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
	struct pile records = { 0 };
	int err = collect_counters(t, &records);
	const struct timed_record *m = records.mem;
	struct rec_heap first = { 0 };
	bool based = !t->config->malloc_since;
	struct heap *h = t->heap;

	for (size_t i = 0; !err && i < records.n; i++) {
		const struct rec_heap one = rebase_counters(t, m[i].at), *r = &one;
		int64_t ns = row_instant(&t->row, m[i].ticks);

		if (r->r.flags & HEAP_HAS_RSS)
			err = heap_track_add(
				&h->rss, t->row.begin_ns,
				(struct heap_point){
					ns, { (int64_t)r->rss, (int64_t)r->r.end } });
		if (err || !(r->r.flags & HEAP_HAS_COUNTS) || h->mode != MALLOC_COUNT)
			continue;
		first = based ? first : one;
		based = true;
		err = apply_counters(t, r, &first, m[i].ticks);
	}
	pile_free(&records);
	return err;
}

/* ---- CUDA's own memory ---- */

#define CUDA_DEVICE_MEMORY 3 /* CUPTI's memory kind */

static const struct rec_block *block_at(const struct trace *t, uint64_t at)
{
	return (const struct rec_block *)(t->view->base + at);
}

/* Follows an allocation or release of device memory; pinned and managed memory is no part
 * of the card's. */
static int device_change(struct trace *t, struct heap_blocks *seen, int64_t *live,
			 const struct timed_record *m)
{
	const struct rec_block *b = block_at(t, m->at);
	struct heap_block mine = { b->address, (uint32_t)(m->at / 8), 0 }, was;
	int err = 0;

	if (b->memory != CUDA_DEVICE_MEMORY || b->device >= HEAP_DEVICES)
		return 0;
	live += b->device;
	if (b->operation == 1) {
		err = heap_blocks_put(seen, mine, &was);
		*live += (int64_t)(b->bytes % HEAP_MOST);
	} else {
		was = heap_blocks_take(seen, b->address);
	}
	/* A release of a block that is older than the window takes nothing from the
	 * sum. */
	if (!err && was.at)
		*live -= (int64_t)(block_at(t, (uint64_t)was.at * 8)->bytes % HEAP_MOST);
	if (err || (b->operation != 1 && !was.at))
		return err;
	return heap_track_add(
		&t->heap->device[b->device], t->row.begin_ns,
		(struct heap_point){ row_instant(&t->row, m->ticks), { *live } });
}

int heap_device(struct trace *t)
{
	const struct timed_record *block = t->cycle.blocks.mem;
	int64_t live[HEAP_DEVICES] = { 0 };
	struct heap_blocks seen = { 0 };
	struct pile records = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < t->cycle.blocks.n; i++) {
		struct timed_record one = block[i];

		if (one.ticks > t->cycle.end)
			one.ticks = t->cycle.end;
		err = pile_add(&records, &one, sizeof(one));
	}
	block = records.mem;
	if (!err)
		err = sort_merge(records.mem, records.n, sizeof(*block), record_before);
	for (size_t i = 0; !err && i < records.n; i++)
		err = device_change(t, &seen, live, &block[i]);
	heap_blocks_free(&seen);
	pile_free(&records);
	return err;
}
