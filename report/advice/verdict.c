/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a time against each step's length: one odd step is no rule. */
#include "report/advice/verdict.h"
#include "report/advice/phrase.h"
#include "report/figures/median.h"

#include <stdio.h>

/* A limit itself counts for BOUND_AT_LEAST only. */
static bool is_within(double share, enum bound bound, double limit)
{
	if (bound == BOUND_BELOW)
		return share < limit;
	return bound == BOUND_ABOVE ? share > limit : share >= limit;
}

struct verdict verdict_of(struct facts *f, enum bound bound, unsigned percent)
{
	struct verdict v = { .held = 0 };
	bool middle = false;

	for (size_t i = 0; i < f->n; i++) {
		int64_t length = facts_length(f, i);
		double share = length > 0 ? (double)f->time[i] / (double)length : 0;

		f->scratch[i] = f->time[i];
		if (length <= 0 || !is_within(share, bound, percent / 100.0))
			continue;
		middle |= i == f->middle;
		v.held++;
		v.least = v.held == 1 || share < v.least ? share : v.least;
		v.most = share > v.most ? share : v.most;
	}
	v.median = median_of(f->scratch, f->n);
	v.holds = middle && verdict_enough(f, v.held);
	return v;
}

const char *verdict_steps(const struct facts *f, const struct verdict *v)
{
	char *to = phrase_room();
	long least = (long)(v->least * 100 + 0.5), most = (long)(v->most * 100 + 0.5);
	int n;

	if (f->n == 1)
		n = snprintf(to, PHRASE, "in the only step (");
	else if (v->held == f->n)
		n = snprintf(to, PHRASE, "in each of %zu steps (", f->n);
	else
		n = snprintf(to, PHRASE, "in %zu of %zu steps (", v->held, f->n);
	if (least == most)
		snprintf(to + n, PHRASE - (size_t)n, "%ld %%)", most);
	else
		snprintf(to + n, PHRASE - (size_t)n, "%ld to %ld %%)", least, most);
	return to;
}
