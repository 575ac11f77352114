/* SPDX-License-Identifier: Apache-2.0 */
/* A cycle's heap, read and summed up by call site. */
#include "writer/heap/account.h"
#include "writer/sort.h"

#include <errno.h>

#define BEAT 65536 /* records between two calls of writer_beat */

/* ---- every record ---- */

/* Draws torch's own totals, of the CPU or of a CUDA device; other kinds of devices have
 * no track. */
static int add_tensor_memory(struct trace *t, const struct heap_lane *l)
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

/* Where Python's small objects were not seen all the time, what is not known to live is
 * not said to. */
static bool is_left_out(const struct trace *t, const struct record *r)
{
	struct cycle_info *info = (struct cycle_info *)t->info;

	return r->kind == REC_ALLOC && r->flags & HEAP_OBJECT &&
	       (!atomic_load(&info->python[PYTHON_OBJECTS]) ||
		atomic_load(&info->python[PYTHON_EXCHANGED]));
}

/* Sums up an allocation or free, and adds a point to the tracks. */
static int heap_record(struct trace *t, struct heap_lane *l)
{
	struct heap *h = t->heap;
	int64_t begin = t->row.begin_ns, ns = row_instant(&t->row, l->ticks);
	struct heap_sums was = h->all;
	int err;

	if (is_left_out(t, l->next))
		return 0;
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

static int merge_records(struct trace *t)
{
	struct heap_merge *m = pile_map(sizeof(*m));
	struct heap_lane *l;
	uint64_t n = 0;
	int err;

	if (!m)
		return -ENOMEM;
	err = heap_merge_start(m, t);
	while (!err && (l = heap_merge_top(m))) {
		if (!(++n % BEAT) && writer_beat && writer_beat())
			err = -ECANCELED;
		else if (l->next->kind == REC_MEMORY)
			err = add_tensor_memory(t, l);
		else if (t->heap->mode != MALLOC_COUNT)
			err = heap_record(t, l);
		heap_merge_pop(m);
	}
	if (!err)
		err = m->err;
	heap_merge_end(m);
	pile_unmap(m, sizeof(*m));
	return err;
}

/* ---- what is written ---- */

struct rank {
	int64_t live, bytes;
	uint32_t site, spare;
};

static bool site_holds_more(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	return a->live != b->live ? a->live > b->live : a->bytes > b->bytes;
}

/* Chooses the sites to be written, in order: those first that hold most at the end and
 * held most at the peak. */
static int choose_sites(struct trace *t)
{
	struct heap *h = t->heap;
	const struct heap_site *s = h->sites.mem;
	struct pile ranks = { 0 };
	struct rank one, *r;
	int err = 0;

	for (uint32_t i = 1; !err && i < h->sites.n; i++) {
		one = (struct rank){ (int64_t)((uint64_t)heap_live(&s[i].sums) +
					       (uint64_t)s[i].peak),
				     (int64_t)s[i].sums.bytes, i, 0 };
		err = pile_add(&ranks, &one, sizeof(one));
	}
	r = ranks.mem;
	if (!err)
		err = sort_merge(r, ranks.n, sizeof(*r), site_holds_more);
	for (size_t i = 0; !err && i < ranks.n && i < HEAP_SITES; i++) {
		h->chosen[h->chosen_n++] = r[i].site;
		err = heap_frames_want(t, site_stacks(&s[r[i].site]));
	}
	pile_free(&ranks);
	return err;
}

/* By time, in which order the instants are written. */
static bool block_before(const void *left, const void *right)
{
	const struct heap_large *a = left, *b = right;

	return a->ticks != b->ticks ? a->ticks < b->ticks : a->at < b->at;
}

/* Finds the sites that allocated most, the largest first. */
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

/* A site of many small blocks has none among the largest: its largest block is shown,
 * too. */
static void add_top_sites(struct heap *h)
{
	uint32_t top[HEAP_TOP];
	size_t largest = h->large, n = top_sites(h, top);

	for (size_t i = 0; i < n; i++) {
		const struct heap_site *s = (struct heap_site *)h->sites.mem + top[i];

		if (!is_among(h->largest, largest, s->max_at))
			h->largest[h->large++] =
				(struct heap_large){ s->max,    s->max_ticks, s->max_at,
						     s->op,     s->max_tid,   s->stack,
						     s->python, top[i] };
	}
}

static int choose_largest(struct trace *t)
{
	struct heap *h = t->heap;
	int err;

	add_top_sites(h);
	err = sort_merge(h->largest, h->large, sizeof(*h->largest), block_before);

	for (size_t i = 0; !err && i < h->large; i++)
		err = heap_frames_want(t, large_stacks(&h->largest[i]));
	return err;
}

int heap_choose(struct trace *t)
{
	if (!t->heap || !t->heap->summary)
		return 0;
	return choose_sites(t) ?: choose_largest(t);
}

int heap_name(struct trace *t)
{
	return t->heap && t->heap->summary ? heap_frames_find(t) : 0;
}

uint64_t heap_peak(const struct trace *t)
{
	const struct heap *h = t->heap;
	int64_t most = h && h->peak > 0 ? h->peak : 0;

	for (unsigned i = 0; h && i < 1 + HEAP_DEVICES; i++)
		for (size_t k = 0; k < h->tensor[i].n; k++)
			if (h->tensor[i].point[k].value[0] > most)
				most = h->tensor[i].point[k].value[0];
	return (uint64_t)most;
}

void heap_small(const struct trace *t, struct writer_small *s)
{
	const struct heap *h = t->heap;

	s->peak = h->peak > 0 ? h->peak : 0;
	s->allocs = h->all.allocs / HEAP_ONE;
	s->frees = h->all.frees / HEAP_ONE;
	for (size_t i = 0; i < h->rss.n; i++)
		if ((uint64_t)h->rss.point[i].value[0] > s->resident)
			s->resident = (uint64_t)h->rss.point[i].value[0];
}

/* ---- for all ---- */

int heap_read(struct trace *t)
{
	const uint64_t *events = t->cycle.events;
	bool heap = events[REC_ALLOC] || events[REC_FREE];
	struct heap *h;
	int err;

	if (!heap && !t->cycle.blocks.n && !events[REC_MEMORY] && !events[REC_HEAP] &&
	    !t->config->malloc && !heap_seen(t))
		return 0;
	h = t->heap = pile_map(sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->mode = (enum cfg_malloc)t->config->malloc;
	h->summary = heap || h->mode;
	if (heap && !h->mode) /* the configuration is damaged */
		h->mode = MALLOC_ALL;
	err = heap_steps_find(t);
	if (!err && h->summary)
		err = heap_sum_start(t);
	if (!err && h->summary && h->mode != MALLOC_COUNT)
		err = heap_track_add(&h->live, t->row.begin_ns,
				     (struct heap_point){ t->row.begin_ns });
	if (!err && (events[REC_MEMORY] || heap))
		err = merge_records(t);
	if (!err)
		err = heap_counters(t);
	if (!err)
		err = heap_device(t);
	if (!err && h->summary)
		err = heap_sum_end(h);
	if (!err && h->summary)
		err = heap_rate_end(h, t->row.begin_ns, t->row.end_ns);
	return err;
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
