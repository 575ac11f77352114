/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by call site: allocations, bytes, and the bytes still live. */
#include "writer/heap/account.h"

#include <errno.h>

#define SLOTS (HEAP_KEPT * 2)

/* ---- what a record stands for ---- */

/*
 * 1 - exp(-x), the chance that a block of x mean distances is in the sample: a series
 * near 0, doubled as often as needed (a block is in the sample if one of its halves is).
 * It is not libm's, so that the same records give the same numbers everywhere.
 */
static double chance_of_sample(double x)
{
	double p = 0, term;
	unsigned halves = 0;

	if (x > 40)
		return 1;
	for (; x > 0.25; x /= 2)
		halves++;
	term = x;
	for (int i = 2; i < 16; i++) {
		p += term;
		term *= -x / i;
	}
	for (; halves; halves--)
		p *= 2 - p;
	return p;
}

/* A block of n bytes is in the sample with the chance p = 1 - exp(-n / mean), so it
 * stands for 1 / p blocks: sums are right on average, whatever the sizes. */
static struct heap_sums weigh_block(const struct heap *h, uint64_t bytes)
{
	struct heap_sums w = { .allocs = HEAP_ONE, .bytes = bytes };
	double p;

	if (h->mode != MALLOC_SAMPLE || !bytes)
		return w;
	p = chance_of_sample((double)bytes / h->mean);
	w.allocs = (uint64_t)((double)HEAP_ONE / p + 0.5);
	w.bytes = (uint64_t)((double)bytes / p + 0.5);
	return w;
}

static uint64_t bytes_of(const struct trace *t, uint32_t at)
{
	uint64_t bytes = heap_record_at(t, at)->bytes;

	return bytes < HEAP_MOST ? bytes : HEAP_MOST;
}

/* ---- sites ---- */

static struct heap_site *site_at(const struct heap *h, uint32_t i)
{
	return (struct heap_site *)h->sites.mem + i;
}

static bool same_site(const struct heap_site *a, const struct heap_site *b)
{
	return a->stack == b->stack && a->python == b->python && a->op == b->op &&
	       a->call == b->call;
}

/* The number of the site that these four say; 0: too many sites, this one is not kept
 * apart. Or -ENOMEM. */
static int64_t site_of(struct heap *h, const struct heap_site *site)
{
	uint64_t hash = ((uint64_t)site->op << 32 | site->stack) * 0x9e3779b97f4a7c15ull +
			((uint64_t)site->python << 8 | site->call);
	size_t i;

	hash = (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9ull;
	for (i = hash >> 32 & (SLOTS - 1); h->index[i]; i = (i + 1) & (SLOTS - 1))
		if (same_site(site_at(h, h->index[i]), site))
			return h->index[i];
	if (h->sites.n >= HEAP_KEPT)
		return 0;
	if (pile_add(&h->sites, site, sizeof(*site)))
		return -ENOMEM;
	return h->index[i] = (uint32_t)(h->sites.n - 1);
}

/* Remembers what a site held, before it changes: for the ends of steps and for the
 * peak. */
static int remember_held(struct heap *h, struct heap_site *s)
{
	struct heap_held held;
	uint32_t from = s->until;

	if (s->peak_of != h->peaks) {
		s->peak = heap_live(&s->sums);
		s->peak_of = h->peaks;
	}
	s->until = (uint32_t)h->now;
	if (from == h->now || !heap_live(&s->sums))
		return 0;
	held = (struct heap_held){ heap_live(&s->sums), from, s->until, s->held, 0 };
	if (pile_add(&h->held, &held, sizeof(held)))
		return -ENOMEM;
	s->held = (uint32_t)h->held.n;
	return 0;
}

void heap_sum_steps(struct heap *h, const struct heap_site *s)
{
	const struct heap_held *held = h->held.mem;

	memset(h->row, 0, sizeof(h->row));
	for (size_t i = s->until; i < h->steps.n; i++)
		h->row[i] = heap_live(&s->sums);
	for (uint32_t at = s->held; at; at = held[at - 1].before)
		for (size_t i = held[at - 1].from; i < held[at - 1].until; i++)
			h->row[i] = held[at - 1].live;
}

/* ---- the largest blocks ---- */

static bool block_is_smaller(const struct heap_large *a, const struct heap_large *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->ticks > b->ticks;
}

/* Keeps the HEAP_LARGEST largest blocks: the smallest of them is on top of the binary
 * heap, and gives way to a larger one. */
static void note_large(struct heap *h, struct heap_large l)
{
	struct heap_large *heap = h->largest;
	size_t at = 0, child;

	if (h->large < HEAP_LARGEST) {
		for (at = h->large++; at && block_is_smaller(&l, &heap[(at - 1) / 2]);
		     at = (at - 1) / 2)
			heap[at] = heap[(at - 1) / 2];
		heap[at] = l;
		return;
	}
	if (!block_is_smaller(&heap[0], &l))
		return;
	for (; (child = 2 * at + 1) < h->large; at = child) {
		if (child + 1 < h->large &&
		    block_is_smaller(&heap[child + 1], &heap[child]))
			child++;
		if (!block_is_smaller(&heap[child], &l))
			break;
		heap[at] = heap[child];
	}
	heap[at] = l;
}

/* ---- records ---- */

int heap_sum_start(struct trace *t)
{
	struct heap *h = t->heap;

	h->mean = (double)t->config->malloc_sample_kb * 1024;
	h->index = pile_map(SLOTS * sizeof(*h->index));
	if (!h->index || !pile_push(&h->sites, sizeof(struct heap_site)))
		return -ENOMEM;
	return heap_cut_start(t);
}

void heap_sum_unmap(struct heap *h)
{
	pile_unmap(h->index, SLOTS * sizeof(*h->index));
	heap_cut_end(h);
}

/* A free is weighed like its allocation, so that both cancel out exactly. */
static int release_block(struct trace *t, const struct heap_block *b)
{
	struct heap *h = t->heap;
	struct heap_site *s = site_at(h, b->site);
	struct heap_sums w = weigh_block(h, bytes_of(t, b->at));
	int err = remember_held(h, s);

	s->sums.frees += w.allocs;
	s->sums.freed += w.bytes;
	h->all.frees += w.allocs;
	h->all.freed += w.bytes;
	return err;
}

/* Where a block is still live at the address its free was not seen (`implied`): that
 * block is released first. */
int heap_sum_alloc(struct trace *t, struct heap_lane *l)
{
	struct heap *h = t->heap;
	const struct record *r = l->next;
	struct heap_block mine = { .address = r->end, .at = (uint32_t)(l->at / 8) }, was;
	uint64_t bytes = bytes_of(t, mine.at);
	struct heap_sums w = weigh_block(h, bytes);
	struct stack_pair stack = heap_cut(t, r->name);
	const struct heap_site key = { .stack = stack.native,
				       .python = stack.python,
				       .op = heap_merge_op(l),
				       .call = r->flags & HEAP_CALL_MASK };
	int64_t site = site_of(h, &key);
	struct heap_site *s;
	int err = site < 0 ? (int)site : 0;

	mine.site = (uint32_t)site;
	if (!err)
		err = heap_blocks_put(&h->blocks, mine, &was);
	if (!err && was.at) {
		err = release_block(t, &was);
		h->implied++;
	}
	if (err)
		return err;
	s = site_at(h, mine.site);
	err = remember_held(h, s);
	s->sums.allocs += w.allocs;
	s->sums.bytes += w.bytes;
	h->all.allocs += w.allocs;
	h->all.bytes += w.bytes;
	if (bytes > s->max || !s->max_at) {
		s->max = bytes;
		s->max_ticks = l->ticks;
		s->max_at = mine.at;
		s->max_tid = l->tid;
	}
	if (heap_live(&h->all) > h->peak) {
		h->peak = heap_live(&h->all);
		h->peak_ticks = l->ticks;
		h->peaks++;
	}
	note_large(h, (struct heap_large){ bytes, l->ticks, mine.at, key.op, l->tid,
					   key.stack, key.python, mine.site });
	return err;
}

/* Is it a free of a small object, as which malloc's blocks are freed, too? Malloc's own
 * hook has recorded the end of those. */
static bool is_of_another(const struct trace *t, const struct record *free)
{
	struct heap_block b;

	if (!(free->flags & HEAP_OBJECT))
		return false;
	b = heap_blocks_find(&t->heap->blocks, free->end);
	return !b.at || (!(free->flags & HEAP_SAMPLED) &&
			 !(heap_record_at(t, b.at)->r.flags & HEAP_OBJECT));
}

int heap_sum_free(struct trace *t, const struct heap_lane *l)
{
	struct heap_block b;

	if (is_of_another(t, l->next))
		return 0;
	b = heap_blocks_take(&t->heap->blocks, l->next->end);
	if (b.at)
		return release_block(t, &b);
	t->heap->foreign++;
	return 0;
}

void heap_sum_until(struct heap *h, uint64_t ticks)
{
	struct heap_step *s = h->steps.mem;

	for (; h->now < h->steps.n && s[h->now].end <= ticks; h->now++)
		s[h->now].live = heap_now(h);
}

int heap_sum_end(struct heap *h)
{
	int err = 0;

	heap_sum_until(h, UINT64_MAX);
	for (uint32_t i = 0; !err && i < h->sites.n; i++)
		err = remember_held(h, site_at(h, i));
	return err;
}
