/* SPDX-License-Identifier: Apache-2.0 */
/* Compares each rank's ends with those of the first rank. */
#include "report/ranks/clocks.h"
#include "report/figures/median.h"
#include "report/figures/sum.h"

#include <stdlib.h>

/* A broadcast's root, and a reduce's others, leave early. */
static bool is_blocking(const char *name)
{
	return text_has(name, "all_reduce") || text_has(name, "all_gather") ||
	       text_has(name, "reduce_scatter") || text_has(name, "AllReduce") ||
	       text_has(name, "AllGather") || text_has(name, "ReduceScatter");
}

#define SAME_CLOCK INT64_C(100000) /* so far times of two GPUs of a host may be apart */

static bool is_of_one_host(const struct rank *a, const struct rank *b)
{
	return a->host != TEXT_NONE && a->host == b->host;
}

static bool fits_one_clock(const struct clock_bounds *b)
{
	return b->low <= SAME_CLOCK && b->high >= -SAME_CLOCK;
}

/* Each collective narrows the bounds: the rank had begun before the first rank ended, and
 * ended after the first rank had begun. */
static void bound_clock(struct clock_bounds *b, const struct rank *ranks, size_t rank,
			const struct match *m, const struct texts *names, int64_t *ends)
{
	bool unsaid = false; /* which group one of them is of */

	*b = (struct clock_bounds){ .low = INT64_MIN, .high = INT64_MAX };
	for (size_t i = 0; i < m->n; i++) {
		const struct collective *first = match_of(m, ranks, i, 0);
		const struct collective *c = match_of(m, ranks, i, rank);
		int64_t low, high;

		if (!first || !c || !is_blocking(texts_get(names, c->name)))
			continue;
		unsaid |= c->group == TEXT_NONE;
		low = sum_minus(c->begin, first->end);
		high = sum_minus(c->end, first->begin);
		b->low = low > b->low ? low : b->low;
		b->high = high < b->high ? high : b->high;
		ends[b->n++] = sum_minus(c->end, first->end);
	}
	if (!b->n)
		return;
	b->estimate = median_of(ends, b->n);
	b->apart = b->low > b->high;
	b->mixed = unsaid && is_of_one_host(ranks, &ranks[rank]) && !fits_one_clock(b);
	if (!b->apart && b->estimate < b->low)
		b->estimate = b->low;
	if (!b->apart && b->estimate > b->high)
		b->estimate = b->high;
}

/* The first rank's clock is right by definition: only differences matter. */
bool clocks_align(struct clock_bounds *bounds, struct rank *ranks, const struct match *m,
		  const struct texts *names)
{
	int64_t *ends = malloc((m->n + 1) * sizeof(*ends));

	for (size_t i = 0; ends && i < m->ranks; i++) {
		struct clock_bounds *b = &bounds[i];
		int64_t half;

		bound_clock(b, ranks, i, m, names, ends);
		half = sum_minus(b->high, b->low) / 2;
		ranks[i].offset = 0;
		if (i && b->n && !b->mixed &&
		    !(is_of_one_host(ranks, &ranks[i]) && fits_one_clock(b)) &&
		    (b->apart || (b->estimate >= half || -b->estimate >= half)))
			ranks[i].offset = b->estimate;
	}
	free(ends);
	return ends != NULL;
}
