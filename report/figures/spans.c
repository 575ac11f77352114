/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals, sorted and joined; what two sets have in common by walking both once. */
#include "report/figures/spans.h"
#include "base/array.h"
#include "base/order.h"
#include "base/search.h"
#include "report/figures/runs.h"

/* ---- making a set ---- */

/* Slices come by thread and time, the outer before the inner: most lie in the span that
 * was added before. */
bool spans_add(struct spans *s, int64_t begin, int64_t end)
{
	struct span *last = s->n ? &s->row[s->n - 1] : NULL;

	if (begin >= end)
		return true;
	if (last && begin >= last->begin && begin <= last->end) {
		last->end = end > last->end ? end : last->end;
		return true;
	}
	if (!GROW(s->row, s->room, s->n))
		return false;
	s->row[s->n++] = (struct span){ begin, end };
	return true;
}

static int by_begin(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return order_of(a->begin, b->begin);
}

void spans_join(struct spans *s)
{
	size_t kept = 0;

	runs_sort(s->row, s->n, sizeof(*s->row), by_begin);
	for (size_t i = 0; i < s->n; i++) {
		struct span *last = kept ? &s->row[kept - 1] : NULL;

		if (!last || s->row[i].begin > last->end)
			s->row[kept++] = s->row[i];
		else if (s->row[i].end > last->end)
			last->end = s->row[i].end;
	}
	s->n = kept;
}

void spans_free(struct spans *s)
{
	free(s->row);
	*s = (struct spans){ 0 };
}

/* ---- two sets ---- */

static int64_t later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t earlier_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

bool spans_common(struct spans *to, const struct spans *a, const struct spans *b)
{
	size_t i = 0, j = 0;

	to->n = 0;
	while (i < a->n && j < b->n) {
		const struct span *x = &a->row[i], *y = &b->row[j];

		if (!spans_add(to, later_of(x->begin, y->begin),
			       earlier_of(x->end, y->end)))
			return false;
		if (x->end < y->end)
			i++;
		else
			j++;
	}
	return true;
}

bool spans_without(struct spans *to, const struct spans *a, const struct spans *b)
{
	size_t j = 0;

	to->n = 0;
	for (size_t i = 0; i < a->n; i++) {
		int64_t begin = a->row[i].begin, end = a->row[i].end;

		while (j < b->n && b->row[j].end <= begin)
			j++;
		/* The last span of b that reaches in may reach into the next of a, too.
		 */
		for (; j < b->n && b->row[j].begin < end; j++) {
			if (!spans_add(to, begin, b->row[j].begin))
				return false;
			begin = b->row[j].end;
			if (begin >= end)
				break;
		}
		if (!spans_add(to, begin, end))
			return false;
	}
	return true;
}

int64_t spans_within(const struct spans *s, int64_t begin, int64_t end)
{
	int64_t sum = 0, length;

	if (begin >= end)
		return 0;
	for (size_t i = SEARCH_FIRST(k, 0, s->n, s->row[k].end > begin);
	     i < s->n && s->row[i].begin < end; i++)
		if (__builtin_sub_overflow(earlier_of(s->row[i].end, end),
					   later_of(s->row[i].begin, begin), &length) ||
		    __builtin_add_overflow(sum, length, &sum))
			return INT64_MAX;
	return sum;
}
