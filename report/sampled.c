/* SPDX-License-Identifier: Apache-2.0 */
/* How far from the truth the growth of a sampled level may be. */
#include "report/sampled.h"

#define GOES_ON 1.5 /* errors of the growth's second half */

double sampled_most(const struct trend_of *t, double growth, double error, double errors)
{
	double side = errors * rises_root(t->error);
	double root =
		(side + rises_root(side * side + 4 * (growth > 0 ? growth : 0))) / 2;

	if (error > rises_root(t->error * (growth > 0 ? growth : 0)))
		return growth + errors * error + side * side;
	return root * root;
}

/* The error of the growth in the last `tail` rises. Blocks that were there before and
 * after have none; so the bytes that came and went bound it, or all that are there. */
double sampled_error(const struct trend_of *t, const struct rises *r, size_t tail)
{
	double first = r->lows[r->n - tail], last = r->lows[r->n];
	double moved = (last > first ? last - first : first - last) +
		       2 * t->churn * (double)(tail * r->b);

	return rises_root(t->error * (moved < first + last ? moved : first + last));
}

bool sampled_is_above(const struct trend_of *t, const struct rises *r)
{
	double low = r->sum - SAMPLED_ERRORS * sampled_error(t, r, r->n) +
		     0.25 * SAMPLED_ERRORS * SAMPLED_ERRORS * t->error;
	double half = 0, n = (double)(r->n / 2);

	for (size_t i = r->n - r->n / 2; i < r->n; i++)
		half += r->by[i];
	half -= GOES_ON * sampled_error(t, r, r->n / 2);
	return low > t->limit * (double)(r->n * r->b) &&
	       half > t->limit * n * (double)r->b;
}
