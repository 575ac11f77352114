/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of a trace as rows, by operator and by call site. */
#include "base/frame_text.h"
#include "report/lines.h"
#include "report/memory/memory.h"

#include <string.h>

#define LABEL_MOST 2048

/* ---- call sites ---- */

/* Writes the innermost frames outside of the allocator, at most `depth`; `all`: also
 * those inside, where there are no others. Returns the length. */
static size_t put_frames(char *text, size_t size, const struct model *m,
			 const struct site *site, unsigned depth, bool all)
{
	const struct sites *h = m->heap;
	uint32_t from = h->stack_at[site->stack], to = h->stack_at[site->stack + 1];
	size_t at = 0;
	unsigned n = 0;
	bool outside = all;

	for (uint32_t i = from; i < to && n < depth && at < size - 8; i++) {
		uint32_t frame = h->stack_pool[i];
		const char *name =
			frame == SITE_NONE ? "?" : texts_get(&m->texts, h->frames[frame]);

		/* What the interpreter calls Python for is not what allocates. */
		if (frame_place(name, strlen(name)) && !n)
			break;
		outside |= !frame_allocates(name);
		if (!outside || (!all && frame_dispatches(name)) ||
		    frame_place(name, strlen(name)))
			continue;
		at += (size_t)snprintf(text + at, size - at, "%s%.500s", n++ ? " < " : "",
				       name);
	}
	return at < size ? at : size - 1;
}

size_t memory_native(char *text, size_t size, const struct model *m,
		     const struct site *site, unsigned depth)
{
	size_t at = 0;

	if (site->stack != SITE_NONE)
		at = put_frames(text, size, m, site, depth, false);
	if (!at && site->stack != SITE_NONE)
		at = put_frames(text, size, m, site, depth, true);
	return at;
}

/* The program's own lines of Python, at most `depth`. Returns the length; 0: there are
 * none. */
static size_t put_lines(char *text, size_t size, const struct model *m,
			const struct site *site, unsigned depth)
{
	const char *stack =
		site->python == TEXT_NONE ? "" : texts_get(&m->texts, site->python);
	char frame[LINE_MOST + 1];
	size_t at = 0;

	for (unsigned n = 0; n < depth && at < size - 1 && lines_next(&stack, frame); n++)
		at += (size_t)snprintf(text + at, size - at, "%s%s", n ? " < " : "",
				       frame);
	return at < size ? at : size - 1;
}

static size_t put_op(char *text, size_t size, const struct model *m,
		     const struct site *site)
{
	return site->op == TEXT_NONE ? 0
				     : (size_t)snprintf(text, size, " < [%.250s]",
							texts_get(&m->texts, site->op));
}

/* Where lines of Python are known they come first, then the operator, and last the native
 * function that the allocation lies in. */
static uint32_t site_label(struct model *m, const struct site *site, unsigned depth)
{
	char text[LABEL_MOST] = "", native[LINE_MOST + 1] = "";
	size_t at = put_lines(text, sizeof(text) - 700, m, site, depth);
	bool lines = at;

	if (!lines)
		at = memory_native(text, sizeof(text) - 300, m, site, depth);
	if (!at)
		at = (size_t)snprintf(
			text, sizeof(text), "(no stack: %.100s)",
			site->call == TEXT_NONE ? "?" : texts_get(&m->texts, site->call));
	at += put_op(text + at, sizeof(text) - at, m, site);
	if (lines && memory_native(native, sizeof(native), m, site, 1))
		at += (size_t)snprintf(text + at, sizeof(text) - at, " < in %s", native);
	return texts_add(&m->texts, text, at);
}

/* ---- sums ---- */

/* Adds a site to its row: sites with the same label are one row. */
static void add_site(struct memory_row *r, const struct site *site, int64_t last)
{
	r->peak += site->peak;
	r->end += site->live;
	r->end_blocks += site->blocks;
	r->allocs += site->allocs;
	r->bytes += site->bytes;
	r->frees += site->frees;
	r->freed += site->freed;
	r->last += last;
}

/* Makes the rows in one pass, and fills their steps in another. */
static bool add_all_sites(struct memory_view *v, struct memory_space *s, bool steps)
{
	struct model *m = v->model;
	const struct sites *h = m->heap;
	const char *rest = s->counted ? "(the whole heap)" : "(smaller sites)";

	for (size_t i = 0; i <= h->rows_n; i++) {
		const struct site *site = i < h->rows_n ? &h->rows[i] : &h->other;
		uint32_t label = i < h->rows_n ? site_label(m, site, v->options.depth)
					       : texts_add(&m->texts, rest, strlen(rest));
		struct memory_row *op, *place;
		int64_t last = s->steps_n ? sites_at_step(h, site,
							  s->steps_from + s->steps_n - 1)
					  : 0;

		if (label == TEXT_NONE)
			return false;
		if (i == h->rows_n && !site->allocs)
			break;
		op = memory_row(&s->by_op, &m->texts, i < h->rows_n ? site->op : label);
		place = memory_row(&s->by_site, &m->texts, label);
		if (!op || !place)
			return false;
		if (!steps) {
			add_site(op, site, last);
			add_site(place, site, last);
			continue;
		}
		for (size_t k = 0; k < s->steps_n; k++) {
			if (op->steps)
				op->steps[k] += sites_at_step(h, site, s->steps_from + k);
			if (place->steps)
				place->steps[k] +=
					sites_at_step(h, site, s->steps_from + k);
		}
	}
	return true;
}

/* Chooses the last of the steps that are wanted; their numbers rise. */
static void choose_steps(const struct memory_view *v, struct memory_space *s)
{
	const struct sites *h = v->model->heap;
	size_t last = h->steps_n;

	while (last && h->steps[last - 1] > v->options.last)
		last--;
	s->steps_from = last;
	while (s->steps_from && last - s->steps_from < MEMORY_STEPS &&
	       h->steps[s->steps_from - 1] >= v->options.first)
		s->steps_from--;
	s->numbers = h->steps + s->steps_from;
	s->steps_n = last - s->steps_from;
}

/* The whole heap's numbers are the file's own; the rows add up its sites and "other". */
bool memory_heap(struct memory_view *v, struct memory_space *s)
{
	const struct sites *h = v->model->heap;

	s->estimated = h->weighted;
	s->counted = !h->rows_n && h->mode != TEXT_NONE &&
		     !strcmp(texts_get(&v->model->texts, h->mode), "count");
	s->peak = s->peak_seen = h->peak_bytes;
	s->peak_ts = h->peak_ts;
	s->peak_step = h->peak_step;
	s->peak_op = TEXT_NONE;
	s->end = h->end_bytes;
	s->end_blocks = h->end_blocks;
	s->allocs = h->allocs;
	s->bytes = h->bytes;
	s->frees = h->frees;
	s->freed = h->freed;
	s->foreign = h->foreign_frees;
	choose_steps(v, s);
	return add_all_sites(v, s, false) && memory_keep_steps(&s->by_op, s->steps_n) &&
	       memory_keep_steps(&s->by_site, s->steps_n) && add_all_sites(v, s, true);
}
