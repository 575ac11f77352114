/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the ranks' collectives, and tells from them how long each rank waited and was
 * waited for. */
#include "report/ranks/ranks.h"
#include "base/order.h"
#include "base/search.h"
#include "report/figures/median.h"
#include "report/figures/sum.h"

#include <stdio.h>
#include <stdlib.h>

#define SLOWER 1.1 /* than the median */

/* ---- waiting ---- */

/* Tells of a step how long its collectives [first, last) waited. */
static bool tell_waiting(struct rank *r, struct rank_step *step, size_t first,
			 size_t last)
{
	struct spans whole = { 0 }, there = { 0 }, waiting = { 0 };
	bool fine = true;

	for (size_t i = first; fine && i < last; i++) {
		const struct collective *c = &r->collectives[i];

		fine = spans_add(&whole, c->begin, c->end) &&
		       spans_add(&there, c->end - c->transfer, c->end);
	}
	spans_join(&whole);
	spans_join(&there);
	fine = fine && spans_without(&waiting, &whole, &there);
	step->transfer = spans_within(&there, INT64_MIN, INT64_MAX);
	step->waiting = spans_within(&waiting, INT64_MIN, INT64_MAX);
	/* A host waits in an operator; a kernel that runs is no waiting. */
	for (size_t i = 0; fine && !r->kernels && i < waiting.n; i++)
		sum_take(&step->compute,
			 spans_within(&r->computation, waiting.row[i].begin,
				      waiting.row[i].end));
	spans_free(&whole);
	spans_free(&there);
	spans_free(&waiting);
	return fine;
}

/* Collectives are by time, and so are their steps. */
static bool tell_steps(struct rank *r)
{
	bool fine = true;

	for (size_t i = 0; i < r->steps_n; i++)
		r->steps[i].compute = r->steps[i].time.computation;
	for (size_t first = 0, last; fine && first < r->collectives_n; first = last) {
		int64_t step = r->collectives[first].step;

		for (last = first + 1; last < r->collectives_n; last++)
			if (r->collectives[last].step != step)
				break;
		if (step >= 0)
			fine = tell_waiting(r, &r->steps[step], first, last);
	}
	return fine;
}

/* Do the ranks of a collective have clocks of which the differences are known? */
static bool is_comparable(const struct ranks *all, size_t joined)
{
	bool aligned = true, one_host = true;
	uint32_t host = TEXT_NONE;

	for (size_t i = 0; i < all->n; i++) {
		if (!match_of(&all->match, all->row, joined, i))
			continue;
		aligned &= !i || all->bounds[i].n;
		host = host == TEXT_NONE ? all->row[i].host : host;
		one_host &= host != TEXT_NONE && all->row[i].host == host;
	}
	return aligned || one_host;
}

/* Blames the rank that came last, for the time since the one before it came. */
static void blame_last(struct ranks *all, size_t joined)
{
	int64_t last = INT64_MIN, second = INT64_MIN;
	struct rank *late = NULL;
	int64_t step = -1;

	if (!is_comparable(all, joined)) {
		all->unaligned++;
		return;
	}
	for (size_t i = 0; i < all->n; i++) {
		const struct collective *c = match_of(&all->match, all->row, joined, i);
		int64_t begin = c ? sum_minus(c->begin, all->row[i].offset) : INT64_MIN;

		if (!c)
			continue;
		if (begin > last) {
			second = last;
			last = begin;
			late = &all->row[i];
			step = c->step;
		} else if (begin > second) {
			second = begin;
		}
	}
	if (all->n > 1 && late && step >= 0)
		sum_add(&late->steps[step].late, sum_minus(last, second));
}

/* ---- verdicts ---- */

/* For medians. */
static int by_size(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* The numbers are sorted in place: callers give a copy, or what they need no more. */
static double sorted_median(double *of, size_t n)
{
	if (n)
		qsort(of, n, sizeof(*of), by_size);
	return median_of_sorted(of, n);
}

/* Numbers of steps rise, as files have them by time. */
static const struct rank_step *step_numbered(const struct rank *r, int64_t number)
{
	size_t at = SEARCH_FIRST(i, 0, r->steps_n, r->steps[i].number >= number);

	return at < r->steps_n && r->steps[at].number == number ? &r->steps[at] : NULL;
}

/* Judges a step that all ranks have. `room` is for twice as many numbers as ranks. */
static bool judge_step(struct ranks *all, int64_t number, double *room, double *factors)
{
	double *compute = room, *sorted = room + all->n, median;

	for (size_t i = 0; i < all->n; i++) {
		const struct rank_step *step = step_numbered(&all->row[i], number);

		if (!step)
			return false;
		compute[i] = sorted[i] = (double)step->compute;
	}
	median = sorted_median(sorted, all->n);
	for (size_t i = 0; i < all->n; i++) {
		double factor = median > 0 ? compute[i] / median : 1;

		all->verdict[i].slow += factor > SLOWER;
		factors[i * all->row[0].steps_n + all->judged] = factor;
	}
	all->judged++;
	return true;
}

/* A mean, as the time of all steps together is what the job takes. */
static void tell_means(struct rank_verdict *v, const struct rank *r)
{
	for (size_t i = 0; i < r->steps_n; i++) {
		const struct rank_step *step = &r->steps[i];

		v->step += (double)sum_minus(step->end, step->begin) / (double)r->steps_n;
		v->compute += (double)step->compute / (double)r->steps_n;
		v->communication += (double)step->time.communication / (double)r->steps_n;
		v->exposed += (double)(step->time.communication - step->time.both) /
			      (double)r->steps_n;
		v->waiting += (double)step->waiting / (double)r->steps_n;
		v->late += (double)step->late / (double)r->steps_n;
	}
}

/* The first rank's steps are enough: a step is judged where all ranks have it. */
static bool judge_ranks(struct ranks *all)
{
	size_t steps = all->row[0].steps_n;
	double *room = calloc(2 * all->n + 1, sizeof(*room));
	double *factors = calloc(all->n * steps + 1, sizeof(*factors));
	bool fine = room && factors;

	for (size_t i = 0; fine && all->n > 1 && i < steps; i++)
		judge_step(all, all->row[0].steps[i].number, room, factors);
	for (size_t i = 0; fine && i < all->n; i++) {
		struct rank_verdict *v = &all->verdict[i];

		tell_means(v, &all->row[i]);
		v->factor =
			all->judged ? sorted_median(factors + i * steps, all->judged) : 1;
		v->straggler = all->judged && 3 * v->slow >= 2 * all->judged;
	}
	free(room);
	free(factors);
	return fine;
}

/* ---- the whole ---- */

/* Clocks need joined collectives; who was late needs clocks. */
static bool compare_ranks(struct ranks *all)
{
	bool fine = match_make(&all->match, all->row, all->n, &all->names) &&
		    clocks_align(all->bounds, all->row, &all->match, &all->names);

	for (size_t i = 0; fine && i < all->n; i++)
		all->mixed |= all->bounds[i].mixed;
	for (size_t i = 0; fine && all->mixed && i < all->n; i++)
		all->row[i].offset = 0;
	if (fine && all->mixed)
		match_undo(&all->match, all->row);
	for (size_t i = 0; fine && i < all->n; i++)
		fine = tell_steps(&all->row[i]);
	for (size_t i = 0; fine && i < all->match.n; i++)
		blame_last(all, i);
	return fine && judge_ranks(all);
}

/* One row more than asked for is made, so that no size is 0 and NULL means no memory. */
static bool begin_ranks(struct ranks *all, size_t n)
{
	*all = (struct ranks){ .row = calloc(n + 1, sizeof(*all->row)),
			       .verdict = calloc(n + 1, sizeof(*all->verdict)),
			       .bounds = calloc(n + 1, sizeof(*all->bounds)) };
	return all->row && all->verdict && all->bounds;
}

/* Files of one number are ordered by path, not by the order of arguments. */
static int by_number(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	return order_of(a->number, b->number) ?: strcmp(a->path, b->path);
}

/* May two neighbours be compared? Says why not. */
static bool fit_together(const struct rank *a, const struct rank *b, char *why,
			 size_t size)
{
	bool one = strcmp(a->stage, b->stage) == 0;

	if (!one)
		snprintf(why, size,
			 "%s is of stage %s, %s of stage %s: name files of one", a->path,
			 *a->stage ? a->stage : "none", b->path,
			 *b->stage ? b->stage : "none");
	else if (b->number >= 0 && a->number == b->number)
		snprintf(why, size, "%s and %s are both of rank %lld: name one", a->path,
			 b->path, (long long)b->number);
	else
		return true;
	return false;
}

bool ranks_read(struct ranks *all, char *const *paths, size_t n, char *why, size_t size)
{
	bool fine = begin_ranks(all, n);

	if (!fine)
		snprintf(why, size, "%s: not enough memory", paths[0]);
	for (size_t i = 0; fine && i < n; i++) {
		fine = rank_read(&all->row[i], paths[i], &all->names, why, size);
		all->n += fine;
	}
	if (fine && n)
		qsort(all->row, n, sizeof(*all->row), by_number);
	for (size_t i = 1; fine && i < n; i++)
		fine = fit_together(&all->row[i - 1], &all->row[i], why, size);
	if (fine && n && !compare_ranks(all)) {
		snprintf(why, size, "%s: not enough memory", paths[0]);
		fine = false;
	}
	if (!fine)
		ranks_free(all);
	return fine;
}

bool ranks_of_one(struct ranks *all, const struct model *m, const struct steps *s)
{
	bool fine = begin_ranks(all, 1) && rank_take(&all->row[0], m, s, &all->names);

	all->n = fine;
	fine = fine && compare_ranks(all);
	if (!fine)
		ranks_free(all);
	return fine;
}

void ranks_free(struct ranks *all)
{
	for (size_t i = 0; i < all->n; i++)
		rank_free(&all->row[i]);
	match_free(&all->match);
	texts_free(&all->names);
	free(all->row);
	free(all->verdict);
	free(all->bounds);
	*all = (struct ranks){ 0 };
}
