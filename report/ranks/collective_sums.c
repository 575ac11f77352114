/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts a rank's collectives by name, and joins the times of each name. */
#include "report/ranks/collective_sums.h"
#include "base/array.h"
#include "base/order.h"
#include "report/figures/sum.h"

#include <stdlib.h>

/* Of one name they stay in the order of time. */
static int by_name(const void *left, const void *right, void *arg)
{
	uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
	const struct collective *all = arg;

	return order_of(all[i].name, all[j].name) ?: order_of(i, j);
}

/* Where a rank spends most comes first. */
static int by_time(const void *left, const void *right)
{
	const struct collective_sum *a = left, *b = right;

	return order_of(b->time, a->time) ?: order_of(a->name, b->name);
}

/* Adds up the collectives of one name. */
static bool add_name(struct collective_sums *s, const struct rank *r,
		     const uint32_t *order, size_t n)
{
	struct spans whole = { 0 }, there = { 0 };
	struct collective_sum *row;
	bool fine = GROW(s->row, s->room, s->n);

	if (!fine)
		return false;
	row = &s->row[s->n++];
	*row = (struct collective_sum){ .name = r->collectives[order[0]].name };
	for (size_t i = 0; fine && i < n; i++) {
		const struct collective *c = &r->collectives[order[i]];

		row->calls++;
		if (c->bytes < 0)
			row->bytes = -1;
		else if (row->bytes >= 0)
			sum_add(&row->bytes, c->bytes);
		fine = spans_add(&whole, c->begin, c->end) &&
		       spans_add(&there, sum_minus(c->end, c->transfer), c->end);
	}
	spans_join(&whole);
	spans_join(&there);
	row->time = spans_within(&whole, INT64_MIN, INT64_MAX);
	row->transfer = spans_within(&there, INT64_MIN, INT64_MAX);
	spans_free(&whole);
	spans_free(&there);
	return fine;
}

bool collective_sums_make(struct collective_sums *s, const struct rank *r)
{
	size_t n = r->collectives_n;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	bool fine = order != NULL;

	*s = (struct collective_sums){ 0 };
	for (size_t i = 0; fine && i < n; i++)
		order[i] = (uint32_t)i;
	if (fine && n)
		qsort_r(order, n, sizeof(*order), by_name, r->collectives);
	for (size_t first = 0, last; fine && first < n; first = last) {
		uint32_t name = r->collectives[order[first]].name;

		for (last = first + 1; last < n; last++)
			if (r->collectives[order[last]].name != name)
				break;
		fine = add_name(s, r, order + first, last - first);
	}
	free(order);
	if (fine && s->n)
		qsort(s->row, s->n, sizeof(*s->row), by_time);
	if (!fine)
		collective_sums_free(s);
	return fine;
}

void collective_sums_free(struct collective_sums *s)
{
	free(s->row);
	*s = (struct collective_sums){ 0 };
}
