/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of one device: peak, steps, churn. */
#include "base/search.h"
#include "report/memory/category.h"
#include "report/memory/memory.h"

#include <stdlib.h>

/* ---- the peak ---- */

/* Finds the peak by the allocator's own totals, or without any by the events of the
 * window. */
static void find_peak(const struct memory_view *v, struct memory_space *s)
{
	const struct model *m = v->model;
	int64_t seen = 0, top_seen = 0, top_seen_ts = m->begin, top = 0, top_ts = 0;
	uint32_t at = NO_ROW, at_seen = NO_ROW;

	for (uint32_t i = 0; i < m->memory_n; i++) {
		const struct memory_event *e = &m->memory[i];

		if (e->device != s->device)
			continue;
		s->reserved = e->reserved > s->reserved ? e->reserved : s->reserved;
		s->oom += e->oom;
		if (e->oom)
			continue;
		seen += e->bytes;
		if (seen > top_seen)
			top_seen = seen, top_seen_ts = e->ts, at_seen = i;
		if (e->allocated > top)
			top = e->allocated, top_ts = e->ts, at = i;
	}
	s->peak = top ? top : top_seen;
	s->peak_ts = top ? top_ts : top_seen_ts;
	at = top ? at : at_seen;
	s->peak_op = TEXT_NONE;
	for (uint32_t slice = at == NO_ROW ? NO_ROW : m->memory[at].slice;
	     slice != NO_ROW && s->peak_op == TEXT_NONE; slice = m->slices[slice].parent)
		if (m->slices[slice].kind == SLICE_OP)
			s->peak_op = m->slices[slice].name;
}

/* ---- rows ---- */

/* Adds a block to a row. `last`: the end of the last step, INT64_MIN without steps. */
static void add_block_to_row(struct memory_row *r, const struct memory_space *s,
			     const struct block *b, int64_t last)
{
	r->allocs++;
	r->bytes += b->bytes;
	r->brief += b->brief;
	if (b->end != BLOCK_LIVE) {
		r->frees++;
		r->freed += b->bytes;
	} else {
		r->end += b->bytes;
		r->end_blocks++;
	}
	if (block_is_live(b, s->peak_ts)) {
		r->peak += b->bytes;
		r->peak_blocks++;
	}
	if (block_is_live(b, last))
		r->last += b->bytes;
}

static bool count_rows(struct memory_view *v, struct memory_space *s)
{
	struct texts *texts = &v->model->texts;
	int64_t last = v->steps_n ? v->ends[v->steps_n - 1] : INT64_MIN;

	for (size_t i = 0; i < v->blocks.n; i++) {
		const struct block *b = &v->blocks.rows[i];
		struct memory_row *op, *site;

		if (b->device != s->device)
			continue;
		if (b->begin == BLOCK_BEFORE) {
			s->foreign++;
			continue;
		}
		op = memory_row(&s->by_op, texts, b->op);
		site = memory_row(&s->by_site, texts, b->site);
		if (!op || !site)
			return false;
		add_block_to_row(op, s, b, last);
		add_block_to_row(site, s, b, last);
		s->allocs++;
		s->bytes += b->bytes;
		s->brief += b->brief;
		s->frees += b->end != BLOCK_LIVE;
		s->freed += b->end != BLOCK_LIVE ? b->bytes : 0;
		if (block_is_live(b, s->peak_ts)) {
			s->peak_seen += b->bytes;
			s->category[b->category] += b->bytes;
		}
	}
	s->end = s->bytes - s->freed;
	s->end_blocks = s->allocs - s->frees;
	return true;
}

/* ---- steps ---- */

/* The first step whose end is at or after `ts`. */
static size_t step_ending(const struct memory_view *v, int64_t ts)
{
	return SEARCH_FIRST(i, 0, v->steps_n, v->ends[i] >= ts);
}

/* The churn of the step in which a moment lies, or the churn outside. */
static struct memory_churn *churn_at(const struct memory_view *v, struct memory_space *s,
				     int64_t ts)
{
	size_t i = step_ending(v, ts);

	return i < v->steps_n && v->begins[i] <= ts ? &s->churn[i] : &s->outside;
}

/* Notes a block as live at the ends of steps [from, to), at the edges; sum_steps adds
 * up. */
static void add_to_steps(struct memory_row *r, int64_t bytes, size_t from, size_t to)
{
	if (r->steps && from < to) {
		r->steps[from] += bytes;
		r->steps[to] -= bytes;
	}
}

static void sum_steps(struct memory_table *t, size_t steps)
{
	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 1; t->rows[i].steps && k < steps; k++)
			t->rows[i].steps[k] += t->rows[i].steps[k - 1];
}

/* A block is live at the ends of the steps [from, to). */
static void count_block(struct memory_view *v, struct memory_space *s,
			const struct block *b)
{
	struct texts *texts = &v->model->texts;
	size_t from = step_ending(v, b->begin), to = v->steps_n;
	struct memory_churn *c;

	if (b->end != BLOCK_LIVE) {
		to = step_ending(v, b->end);
		c = churn_at(v, s, b->end);
		c->frees++;
		c->freed += b->bytes;
	}
	if (b->begin == BLOCK_BEFORE)
		return;
	c = churn_at(v, s, b->begin);
	c->allocs++;
	c->bytes += b->bytes;
	c->brief += b->brief;
	if (from < to) {
		s->churn[from].end += b->bytes;
		s->churn[to].end -= b->bytes;
	}
	add_to_steps(memory_row(&s->by_op, texts, b->op), b->bytes, from, to);
	add_to_steps(memory_row(&s->by_site, texts, b->site), b->bytes, from, to);
}

static bool count_steps(struct memory_view *v, struct memory_space *s)
{
	s->numbers = v->numbers;
	s->steps_n = v->steps_n;
	s->churn = calloc(v->steps_n + 1, sizeof(*s->churn));
	if (!s->churn || !memory_keep_steps(&s->by_op, v->steps_n) ||
	    !memory_keep_steps(&s->by_site, v->steps_n))
		return false;
	for (size_t i = 0; i < v->blocks.n; i++)
		if (v->blocks.rows[i].device == s->device)
			count_block(v, s, &v->blocks.rows[i]);
	for (size_t i = 1; i < v->steps_n; i++)
		s->churn[i].end += s->churn[i - 1].end;
	sum_steps(&s->by_op, v->steps_n);
	sum_steps(&s->by_site, v->steps_n);
	return true;
}

/* Adds memory that was there before the window, as far as its category is known. */
static void add_older_bytes(struct memory_view *v, struct memory_space *s)
{
	int64_t before[CATEGORIES], part;

	/* Memory shared between processes is in no allocator's totals: so the seen peak
	 * may be higher. */
	if (s->peak < s->peak_seen)
		s->peak = s->peak_seen;
	s->older = s->peak - s->peak_seen;
	preexisting_set(&v->blocks, s->device, before);
	for (unsigned i = 0; i < CATEGORY_UNKNOWN; i++) {
		part = before[i] < s->older ? before[i] : s->older;
		s->older -= part;
		s->category[i] += part;
	}
}

/* The allocator's totals tell the peak; the blocks of the window tell which operators and
 * call sites held it. */
bool memory_tensors(struct memory_view *v, struct memory_space *s)
{
	long step;

	find_peak(v, s);
	step = model_step(v->model, s->peak_ts);
	s->peak_step = step < 0 ? -1 : (long)v->model->steps[step].number;
	if (!count_rows(v, s) || !count_steps(v, s))
		return false;
	add_older_bytes(v, s);
	return true;
}
