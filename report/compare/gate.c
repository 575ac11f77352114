/* SPDX-License-Identifier: Apache-2.0 */
/* Judges one metric of a run by that of its baseline. */
#include "report/compare/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS "ops/"

bool gate_is_metric(const char *metric)
{
	return !strcmp(metric, "step") || !strcmp(metric, "gpu") ||
	       !strcmp(metric, "peak-memory") ||
	       (text_starts_with(metric, OPS) && metric[strlen(OPS)]);
}

/* ---- metrics ---- */

/* Adds all rows of a kind up, step by step; of peaks the largest device counts. False: no
 * memory. */
static bool sum_kind(const struct profile *p, enum profile_kind kind,
		     struct profile_row *sum)
{
	*sum = (struct profile_row){ .value = calloc(p->steps_n + 1, sizeof(double)) };
	if (!sum->value)
		return false;
	for (size_t i = 0; i < p->rows_n; i++) {
		if (profile_kind(p, i) != kind)
			continue;
		sum->n = p->steps_n;
		for (size_t step = 0; step < p->steps_n; step++) {
			double value = profile_value(&p->rows[i], step);

			if (kind != PROFILE_PEAK)
				sum->value[step] += value;
			else if (value > sum->value[step])
				sum->value[step] = value;
		}
	}
	return true;
}

/* The values of a metric, copied; n 0: the run has none of it. False: no memory. */
static bool metric_of(const struct profile *p, const char *metric, struct profile_row *to)
{
	const struct profile_row *row;

	if (!strcmp(metric, "step"))
		return sum_kind(p, PROFILE_STEP, to);
	if (!strcmp(metric, "gpu"))
		return sum_kind(p, PROFILE_GPU, to);
	if (!strcmp(metric, "peak-memory"))
		return sum_kind(p, PROFILE_PEAK, to);
	row = profile_find(p, PROFILE_HOST, metric + strlen(OPS));
	*to = (struct profile_row){ .value = calloc(p->steps_n + 1, sizeof(double)) };
	for (size_t i = 0; to->value && row && i < p->steps_n; i++)
		to->value[i] = profile_value(row, i);
	to->n = row ? p->steps_n : 0;
	return to->value;
}

/* ---- the verdict ---- */

static void say_unsure(struct gate *g, const char *why)
{
	g->verdict = GATE_UNSURE;
	snprintf(g->why, sizeof(g->why), "%s", why);
}

/* An interval gets narrower by the root of the number of steps. */
static size_t steps_that_tell(const struct gate *g, double limit)
{
	double half = (g->high - g->low) / 2, n = (double)g->shift.b_n;

	if (g->shift.a_n > g->shift.b_n)
		n = (double)g->shift.a_n;
	n = ceil(n * half * half / (limit * limit));
	return n < 1e6 ? (size_t)n : 1000000;
}

static void judge_interval(struct gate *g, double limit, bool strict)
{
	if (g->low > limit) {
		g->verdict = GATE_REGRESSION;
	} else if (g->high <= limit) {
		g->verdict = GATE_FINE;
	} else if ((g->high - g->low) / 2 <= limit) {
		g->verdict = strict ? GATE_REGRESSION : GATE_FINE;
	} else {
		g->steps = steps_that_tell(g, limit);
		say_unsure(g, "the steps vary too much to show a change of that size");
	}
}

static void judge_shift(struct gate *g, double limit, bool strict)
{
	if (g->shift.a <= 0) {
		say_unsure(g, "the baseline's median is 0");
		return;
	}
	g->by = g->shift.by / g->shift.a;
	g->low = g->shift.low / g->shift.a;
	g->high = g->shift.high / g->shift.a;
	if (g->shift.interval) {
		judge_interval(g, limit, strict);
		return;
	}
	g->steps = g->shift.a_n < 4 || g->shift.b_n < 4 ? 4 : 0;
	say_unsure(g, "there are too few steps to be sure of anything");
}

bool gate_judge(struct gate *g, const struct profile *baseline, const struct profile *run,
		const char *metric, double limit, bool strict)
{
	struct profile_row x = { 0 }, y = { 0 };
	bool fine = metric_of(baseline, metric, &x) && metric_of(run, metric, &y);

	*g = (struct gate){ 0 };
	if (fine && (!x.n || !y.n))
		say_unsure(g, x.n   ? "the run has nothing of this metric"
			      : y.n ? "the baseline has nothing of this metric"
				    : "neither side has anything of this metric");
	else if (fine)
		fine = compare_values(&g->shift, baseline, &x, run, &y);
	if (fine && x.n && y.n)
		judge_shift(g, limit, strict);
	free(x.value);
	free(y.value);
	return fine;
}
