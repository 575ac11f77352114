/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cuda_parts.h"
#include "writer/heap_parts.h"
#include "writer/sort.h"

#include <errno.h>

static bool has(const struct trace *t, enum record_kind kind)
{
	return t->cycle.events[kind] != 0;
}

/* ---- every record ---- */

static int tensor(struct trace *t, const struct heap_lane *l)
{
	const struct rec_memory *m = (const struct rec_memory *)l->next;
	bool cpu = m->device_type == 0;

	if (!cpu && (m->device_type != 1 || m->device_index < 0 ||
		     m->device_index >= HEAP_DEVICES))
		return 0;
	return heap_track_add(
		&t->heap->tensor[cpu ? 0 : 1 + m->device_index], t->row.begin_ns,
		(struct heap_point){ row_instant(&t->row, l->ticks),
				     { (int64_t)m->allocated, (int64_t)m->reserved } });
}

static int heap_record(struct trace *t, struct heap_lane *l)
{
	struct heap *h = t->heap;
	int64_t begin = t->row.begin_ns, ns = row_instant(&t->row, l->ticks);
	struct heap_sums was = h->all;
	int err;

	heap_sum_until(h, l->ticks);
	err = l->next->kind == REC_ALLOC ? heap_sum_alloc(t, l) : heap_sum_free(t, l);
	if (!err)
		err = heap_track_add(&h->live, begin,
				     (struct heap_point){ ns, { heap_live(&h->all) } });
	if (!err)
		err = heap_rate_add(h, begin, ns, h->all.allocs - was.allocs,
				    h->all.frees - was.frees);
	return err;
}

static int merge(struct trace *t)
{
	struct heap_merge *m = pile_map(sizeof(*m));
	struct heap_lane *l;
	int err;

	if (!m)
		return -ENOMEM;
	err = heap_merge_start(m, t);
	while (!err && (l = heap_merge_top(m))) {
		if (l->next->kind == REC_MEMORY)
			err = tensor(t, l);
		else if (t->heap->mode != HEAP_IS_COUNT)
			err = heap_record(t, l);
		heap_merge_pop(m);
	}
	if (!err)
		err = m->err;
	heap_merge_end(m);
	pile_unmap(m, sizeof(*m));
	return err;
}

/* ---- what the file says ---- */

struct rank {
	int64_t live, bytes;
	uint32_t site, spare;
};

static bool greater(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	return a->live != b->live ? a->live > b->live : a->bytes > b->bytes;
}

/* The sites that are written, in their order: what lives at the end or did at the peak
 * comes first. */
static int choose_sites(struct heap *h)
{
	const struct heap_site *s = h->sites.mem;
	struct pile ranks = { 0 };
	struct rank *r;
	int err = 0;

	for (uint32_t i = 1; i < h->sites.n; i++) {
		r = pile_push(&ranks, sizeof(*r));
		if (!r) {
			err = -ENOMEM;
			break;
		}
		*r = (struct rank){ (int64_t)((uint64_t)heap_live(&s[i].sums) +
					      (uint64_t)s[i].peak),
				    (int64_t)s[i].sums.bytes, i, 0 };
	}
	r = ranks.mem;
	if (!err)
		err = sort_merge(r, ranks.n, sizeof(*r), greater);
	for (size_t i = 0; !err && i < ranks.n && i < HEAP_SITES; i++) {
		h->chosen[h->chosen_n++] = r[i].site;
		err = heap_frames_want(h, s[r[i].site].stack);
	}
	pile_free(&ranks);
	return err;
}

static bool earlier(const void *left, const void *right)
{
	const struct heap_large *a = left, *b = right;

	return a->ticks != b->ticks ? a->ticks < b->ticks : a->at < b->at;
}

/* The sites that allocated most, the most first. */
static size_t top_sites(const struct heap *h, uint32_t top[HEAP_TOP])
{
	const struct heap_site *s = h->sites.mem;
	size_t n = 0, at;

	for (uint32_t i = 1; i < h->sites.n; i++) {
		if (n == HEAP_TOP && s[i].sums.bytes <= s[top[n - 1]].sums.bytes)
			continue;
		n += n < HEAP_TOP;
		for (at = n - 1; at && s[top[at - 1]].sums.bytes < s[i].sums.bytes; at--)
			top[at] = top[at - 1];
		top[at] = i;
	}
	return n;
}

static bool is_among(const struct heap_large *l, size_t n, uint32_t at)
{
	for (size_t i = 0; i < n; i++)
		if (l[i].at == at)
			return true;
	return false;
}

/* A site of many small blocks has none among the largest: one of it is shown, too. */
static void add_top_sites(struct heap *h)
{
	uint32_t top[HEAP_TOP];
	size_t largest = h->large, n = top_sites(h, top);

	for (size_t i = 0; i < n; i++) {
		const struct heap_site *s = (struct heap_site *)h->sites.mem + top[i];

		if (!is_among(h->largest, largest, s->max_at))
			h->largest[h->large++] =
				(struct heap_large){ s->max, s->max_ticks, s->max_at,
						     s->op,  s->max_tid,   s->stack,
						     top[i] };
	}
}

static int choose_largest(struct trace *t)
{
	struct heap *h = t->heap;
	int err;

	add_top_sites(h);
	err = sort_merge(h->largest, h->large, sizeof(*h->largest), earlier);

	for (size_t i = 0; !err && i < h->large; i++)
		err = heap_frames_want(h, h->largest[i].stack);
	return err;
}

static int sum_up(struct trace *t)
{
	struct heap *h = t->heap;
	int err = heap_sum_end(h);

	if (!err)
		err = heap_rate_end(h, t->row.begin_ns, t->row.end_ns);
	if (!err)
		err = choose_sites(h);
	if (!err)
		err = choose_largest(t);
	if (!err)
		err = heap_frames_find(t);
	return err;
}

/* ---- for all ---- */

int heap_read(struct trace *t)
{
	bool heap = has(t, REC_ALLOC) || has(t, REC_FREE);
	bool blocks = t->cuda && t->cuda->blocks.n;
	struct heap *h;
	int err;

	if (!heap && !blocks && !has(t, REC_MEMORY) && !has(t, REC_HEAP) &&
	    !t->config->malloc)
		return 0;
	h = t->heap = pile_map(sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->mode = (enum heap_kept)t->config->malloc;
	h->summary = heap || h->mode;
	if (heap && !h->mode) /* the configuration is damaged */
		h->mode = HEAP_IS_ALL;
	err = heap_steps_find(t);
	if (!err && h->summary)
		err = heap_sum_start(t);
	if (!err && h->summary && h->mode != HEAP_IS_COUNT)
		err = heap_track_add(&h->live, t->row.begin_ns,
				     (struct heap_point){ t->row.begin_ns });
	if (!err && (has(t, REC_MEMORY) || has(t, REC_ALLOC) || has(t, REC_FREE)))
		err = merge(t);
	if (!err)
		err = heap_counters(t);
	if (!err && blocks)
		err = heap_device(t);
	return err || !h->summary ? err : sum_up(t);
}

void heap_done(struct trace *t)
{
	struct heap *h = t->heap;

	if (!h)
		return;
	pile_free(&h->sites);
	heap_sum_unmap(h);
	heap_blocks_free(&h->blocks);
	pile_free(&h->held);
	pile_free(&h->steps);
	heap_track_free(&h->live);
	heap_track_free(&h->calls);
	heap_track_free(&h->rss);
	for (unsigned i = 0; i < 1 + HEAP_DEVICES; i++)
		heap_track_free(&h->tensor[i]);
	for (unsigned i = 0; i < HEAP_DEVICES; i++)
		heap_track_free(&h->device[i]);
	heap_frames_free(h);
	pile_unmap(h, sizeof(*h));
	t->heap = NULL;
}
