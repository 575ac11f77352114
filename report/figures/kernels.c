/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up GPU work by name. What a kernel does not say counts as 0 in a mean, as in the
 * plugin, unless no kernel of the name says it. */
#include "report/figures/kernels.h"
#include "base/array.h"
#include "base/order.h"
#include "report/figures/launches.h"
#include "report/figures/sum.h"
#include "report/figures/tensor_cores.h"

#include <math.h>
#include <stdlib.h>

/* One piece of work, as its row wants it. */
struct piece {
	uint32_t name, slice, op;
	uint8_t sort;
};

struct pieces {
	struct piece *row;
	size_t n, room;
};

static int by_row(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	return order_of(a->name, b->name) ?: order_of(a->sort, b->sort) ?:
	       order_of(a->op, b->op) ?: order_of(a->slice, b->slice);
}

/* False: no memory. */
static bool collect_pieces(struct pieces *p, const struct model *m, int64_t from,
			   int64_t to)
{
	struct launches all = { 0 };
	bool fine = launches_make(&all, m);

	for (uint32_t i = 0; fine && i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		uint32_t op;

		if (s->kind != SLICE_DEVICE || s->begin < from || s->begin >= to)
			continue;
		fine = GROW(p->row, p->room, p->n);
		if (!fine)
			break;
		op = launches_op(&all, s);
		p->row[p->n++] = (struct piece){
			s->name, i, op == NO_ROW ? TEXT_NONE : m->slices[op].name, s->sort
		};
	}
	launches_free(&all);
	if (p->n)
		qsort(p->row, p->n, sizeof(*p->row), by_row);
	return fine;
}

/* ---- a row ---- */

struct weighted {
	double sum; /* of value x time */
	bool said;
};

struct means {
	struct weighted blocks, occupancy;
	double weight; /* the sum of times */
};

/* A share that is below 0, as Kineto writes it where it failed, or out of range is none.
 */
static void add_share(struct weighted *s, double value, int64_t time)
{
	if (!(value >= 0 && isfinite(value)))
		return;
	s->sum += value * (double)time;
	s->said = true;
}

static double mean_of(const struct weighted *s, double weight)
{
	if (!s->said)
		return -1;
	return weight > 0 ? s->sum / weight : 0;
}

static void add_piece(struct kernel_figures *r, struct means *means,
		      const struct model *m, const struct slice *s)
{
	static const struct work nothing = { .bytes = -1,
					     .blocks_per_sm = -1,
					     .occupancy = -1 };
	const struct work *w = s->work == NO_ROW ? &nothing : &m->works[s->work];
	int64_t time = s->end - s->begin;

	r->count++;
	sum_add(&r->total, time);
	r->least = r->count == 1 || time < r->least ? time : r->least;
	r->most = time > r->most ? time : r->most;
	if (w->bytes >= 0 && s->sort != SORT_KERNEL) {
		r->bytes = r->bytes < 0 ? 0 : r->bytes;
		sum_add(&r->bytes, w->bytes);
	}
	means->weight += (double)time;
	add_share(&means->blocks, w->blocks_per_sm, time);
	add_share(&means->occupancy, w->occupancy, time);
}

/* Makes a row of the pieces [at, last), which lie together by operator. */
static struct kernel_figures one_row(const struct model *m, const struct piece *at,
				     const struct piece *last)
{
	struct kernel_figures r = {
		.name = at->name, .sort = at->sort, .op = TEXT_NONE, .bytes = -1
	};
	struct means means = { 0 };
	int64_t of_op = 0, longest = -1;

	for (const struct piece *p = at; p < last; p++) {
		const struct slice *s = &m->slices[p->slice];

		add_piece(&r, &means, m, s);
		of_op = p > at && p->op == p[-1].op ? of_op : 0;
		sum_add(&of_op, s->end - s->begin);
		if (p->op != TEXT_NONE && of_op > longest) {
			longest = of_op;
			r.op = p->op;
		}
	}
	r.tensor_cores =
		r.sort == SORT_KERNEL && tensor_cores_used(texts_get(&m->texts, r.name));
	r.blocks_per_sm = mean_of(&means.blocks, means.weight);
	r.occupancy = mean_of(&means.occupancy, means.weight);
	return r;
}

static int by_total(const void *left, const void *right)
{
	const struct kernel_figures *a = left, *b = right;

	return order_of(b->total, a->total) ?: order_of(a->name, b->name) ?:
	       order_of(a->sort, b->sort);
}

static bool make_rows(struct kernels *k, const struct model *m, const struct pieces *p)
{
	for (size_t at = 0, last; at < p->n; at = last) {
		last = at + 1;
		while (last < p->n && p->row[last].name == p->row[at].name &&
		       p->row[last].sort == p->row[at].sort)
			last++;
		if (!GROW(k->row, k->room, k->n))
			return false;
		k->row[k->n] = one_row(m, &p->row[at], &p->row[last]);
		sum_add(&k->total, k->row[k->n++].total);
	}
	if (k->n)
		qsort(k->row, k->n, sizeof(*k->row), by_total);
	return true;
}

bool kernels_make(struct kernels *k, const struct model *m, int64_t from, int64_t to)
{
	struct pieces p = { 0 };
	bool fine;

	*k = (struct kernels){ 0 };
	fine = collect_pieces(&p, m, from, to) && make_rows(k, m, &p);
	free(p.row);
	if (!fine)
		kernels_free(k);
	return fine;
}

void kernels_free(struct kernels *k)
{
	free(k->row);
	*k = (struct kernels){ 0 };
}
