/* SPDX-License-Identifier: Apache-2.0 */
/* Steps as the program marked them, or all of the trace as one; then each ends with what
 * it launched, and the next begins there. */
#include "report/figures/bounds.h"
#include "base/order.h"
#include "base/search.h"
#include "report/figures/runs.h"

#include <stdlib.h>

/* ---- as the program says ---- */

/* Is it an operator in all spellings? "Optimizer.step#SGD.step" and the DataLoader are
 * annotations or operators, as the dialect has it. */
static bool is_operator(const struct model *m, uint32_t slice)
{
	const char *name;

	if (m->slices[slice].kind != SLICE_NOTE)
		return m->slices[slice].kind == SLICE_OP;
	name = slice_name(m, slice);
	return text_starts_with(name, "enumerate(Data") ||
	       text_starts_with(name, "Optimizer.");
}

/* The whole trace is one step, from the first operator to the last; without operators,
 * from the first slice of any kind. */
static void span_all(struct bounds *b, const struct model *m)
{
	bool by_operators = false;

	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		bool is_op = is_operator(m, i);

		if (by_operators && !is_op)
			continue;
		if (!b->n || is_op != by_operators)
			b->row[0] = (struct step){ s->begin, s->end, 0 };
		b->n = 1;
		by_operators = is_op;
		b->row[0].begin = s->begin < b->row[0].begin ? s->begin : b->row[0].begin;
		b->row[0].end = s->end > b->row[0].end ? s->end : b->row[0].end;
	}
}

static bool mark_steps(struct bounds *b, const struct model *m)
{
	size_t n = model_marked(m) ? m->steps_n : 1;

	b->row = malloc(n * sizeof(*b->row));
	if (!b->row)
		return false;
	if (!model_marked(m)) {
		span_all(b, m);
		return true;
	}
	memcpy(b->row, m->steps, n * sizeof(*b->row));
	b->n = n;
	return true;
}

/* ---- what each step launched ---- */

struct call { /* that lies in a step */
	uint32_t correlation, step;
};

struct launched {
	size_t pieces;
	int64_t begin, end; /* of the first and the last */
};

struct device_work {
	struct call *calls; /* by correlation */
	size_t calls_n, calls_room;
	struct launched *by_step;
	int64_t *others; /* ends of what no step launched */
	size_t others_n, others_room;
};

/* The step that holds a call whole; NO_ROW: none does. */
static uint32_t holding_step(const struct bounds *b, const struct slice *call)
{
	size_t at = SEARCH_FIRST(
		i, 0, b->n, b->row[i].end > call->begin || b->row[i].end >= call->end);

	return at < b->n && call->begin >= b->row[at].begin && call->end <= b->row[at].end
		       ? (uint32_t)at
		       : NO_ROW;
}

static int by_correlation(const void *left, const void *right)
{
	const struct call *a = left, *b = right;

	return order_of(a->correlation, b->correlation) ?: order_of(a->step, b->step);
}

static bool collect_calls(struct device_work *w, const struct bounds *b,
			  const struct model *m)
{
	for (size_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		uint32_t step = s->kind == SLICE_CALL && s->correlation
					? holding_step(b, s)
					: NO_ROW;

		if (step == NO_ROW)
			continue;
		if (!GROW(w->calls, w->calls_room, w->calls_n))
			return false;
		w->calls[w->calls_n++] = (struct call){ s->correlation, step };
	}
	runs_sort(w->calls, w->calls_n, sizeof(*w->calls), by_correlation);
	return true;
}

static void add_piece(struct launched *l, const struct slice *piece)
{
	if (!l->pieces++)
		*l = (struct launched){ 1, piece->begin, piece->end };
	l->begin = piece->begin < l->begin ? piece->begin : l->begin;
	l->end = piece->end > l->end ? piece->end : l->end;
}

/* Gives each piece of GPU work to the step that launched it. */
static bool collect_work(struct device_work *w, const struct model *m)
{
	for (size_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		size_t at;

		if (s->kind != SLICE_DEVICE)
			continue;
		at = SEARCH_FIRST(k, 0, w->calls_n,
				  w->calls[k].correlation >= s->correlation);
		if (s->correlation && at < w->calls_n &&
		    w->calls[at].correlation == s->correlation) {
			add_piece(&w->by_step[w->calls[at].step], s);
			continue;
		}
		if (!GROW(w->others, w->others_room, w->others_n))
			return false;
		w->others[w->others_n++] = s->end;
	}
	return true;
}

/* ---- steps with their work ---- */

/* The first step begins behind what was launched before it, where that ended in time. */
static int64_t first_begin(const struct bounds *b, const struct device_work *w)
{
	int64_t begin = b->row[0].begin;

	if (!w->by_step[0].pieces)
		return begin;
	for (size_t i = 0; i < w->others_n; i++)
		if (w->others[i] < w->by_step[0].begin && w->others[i] > begin)
			begin = w->others[i];
	return begin;
}

static void stretch_steps(struct bounds *b, const struct device_work *w)
{
	int64_t before = first_begin(b, w);

	for (size_t i = 0; i < b->n; i++) {
		struct step *s = &b->row[i];
		const struct launched *l = &w->by_step[i];

		s->begin = before > s->begin ? before : s->begin;
		if (l->pieces && l->end > s->end)
			s->end = l->end;
		s->end = s->begin > s->end ? s->begin : s->end;
		before = s->end;
	}
}

/* The GPU's records of the last steps may be missing: steps behind the last one with work
 * are left out, and that one if it has less than four fifths of the work of the one
 * before. */
static void leave_out_tail(struct bounds *b, const struct device_work *w)
{
	size_t n = b->n;

	while (n > 1 && !w->by_step[n - 1].pieces)
		n--;
	if (n > 1 &&
	    (double)w->by_step[n - 2].pieces * 0.8 > (double)w->by_step[n - 1].pieces)
		n--;
	b->left_out = b->n - n;
	b->n = n;
}

static bool correct_steps(struct bounds *b, const struct model *m)
{
	struct device_work w = { .by_step = calloc(b->n, sizeof(*w.by_step)) };
	bool any = false, fine;

	fine = w.by_step && collect_calls(&w, b, m) && collect_work(&w, m);
	for (size_t i = 0; fine && i < b->n; i++)
		any = any || w.by_step[i].pieces;
	if (any) {
		stretch_steps(b, &w);
		leave_out_tail(b, &w);
	}
	free(w.calls);
	free(w.by_step);
	free(w.others);
	return fine;
}

/* A cut has its steps' bounds from the whole file. */
static bool take_kept(struct bounds *b, const struct kept *k)
{
	b->row = malloc(k->n * sizeof(*b->row));
	if (!b->row)
		return false;
	for (size_t i = 0; i < k->n; i++)
		b->row[b->n++] =
			(struct step){ k->row[i].begin, k->row[i].end, k->row[i].number };
	return true;
}

bool bounds_make(struct bounds *b, const struct model *m)
{
	*b = (struct bounds){ 0 };
	if (m->kept && model_marked(m)
		    ? take_kept(b, m->kept)
		    : mark_steps(b, m) && (!b->n || correct_steps(b, m)))
		return true;
	bounds_free(b);
	return false;
}

void bounds_free(struct bounds *b)
{
	free(b->row);
	*b = (struct bounds){ 0 };
}
