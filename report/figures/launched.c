/* SPDX-License-Identifier: Apache-2.0 */
/* Adds work on devices to the operators with the same "External id", as torch's
 * _parse_kineto_results does. */
#include "report/figures/launched.h"
#include "report/figures/event_tree.h"
#include "report/figures/launches.h"
#include "report/figures/sum.h"

#include <stdlib.h>

static bool has_work(const struct model *m)
{
	for (uint32_t i = 0; i < m->slices_n; i++)
		if (m->slices[i].external && event_tree_is_work(m, i))
			return true;
	return false;
}

static void add_work(struct launched *l, const struct model *m,
		     const struct launches *all, double *carry)
{
	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		uint32_t op = event_tree_is_work(m, i) ? launches_op(all, s) : NO_ROW;
		struct python_sum sum;

		if (op == NO_ROW)
			continue;
		sum_add(&l->ns[op], event_ns(s));
		sum = (struct python_sum){ l->us[op], carry[op] };
		python_sum_add(&sum, event_us(m, s));
		l->us[op] = sum.sum;
		carry[op] = sum.carry;
	}
	for (size_t i = 0; i < m->slices_n; i++)
		l->us[i] += carry[i];
}

/* torch looks for work under the number of each event that no operator is linked to: that
 * of a call is its "correlation", which may be some operator's number. Its tables have
 * that time twice, and so has `us`. */
static void add_mistaken(struct launched *l, const struct model *m,
			 const struct launches *all)
{
	for (size_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		uint32_t op;

		if (s->kind != SLICE_CALL || s->external || !s->correlation)
			continue;
		op = launches_numbered(all, s->correlation);
		if (op != NO_ROW)
			l->us[i] = l->us[op];
	}
}

bool launched_make(struct launched *l, const struct model *m)
{
	struct launches all = { 0 };
	double *carry;
	bool fine;

	*l = (struct launched){ 0 };
	if (!has_work(m))
		return true;
	l->ns = calloc(m->slices_n, sizeof(*l->ns));
	l->us = calloc(m->slices_n, sizeof(*l->us));
	carry = calloc(m->slices_n, sizeof(*carry));
	fine = l->ns && l->us && carry && launches_make(&all, m);
	if (fine) {
		add_work(l, m, &all, carry);
		add_mistaken(l, m, &all);
	} else {
		launched_free(l);
	}
	free(carry);
	launches_free(&all);
	return fine;
}

void launched_free(struct launched *l)
{
	free(l->ns);
	free(l->us);
	*l = (struct launched){ 0 };
}
