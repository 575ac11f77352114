/* SPDX-License-Identifier: Apache-2.0 */
/* Low-water marks, the rises between them, and how sure these are. */
#include "report/rises.h"

#include <stdlib.h>

#define PAIRS_OF 100u /* marks between which slopes are taken */

#define BOUND 2.33 /* one in a hundred, one-sided */
#define APART 3.0 /* one in 740, as many tails are tested */

double rises_root(double n)
{
	double x = n > 1 ? n : 1;

	if (n <= 0)
		return 0;
	for (int i = 0; i < 64; i++)
		x = (x + n / x) / 2;
	return x;
}

/* ---- marks ---- */

/* Stretches end with the last step; steps that are left over are at the beginning. */
void rises_find(struct rises *r, const int64_t *level, size_t n, size_t from, size_t b)
{
	size_t blocks = (n - from) / b, at = n - blocks * b;

	r->n = 0;
	r->b = b;
	r->from = at;
	r->sum = r->squares = r->falls = r->ups = 0;
	for (size_t i = 0; i < blocks; i++) {
		double low = (double)level[at++];

		for (size_t k = 1; k < b; k++, at++)
			low = (double)level[at] < low ? (double)level[at] : low;
		r->lows[i] = low;
		if (!i)
			continue;
		low -= r->lows[i - 1];
		r->by[r->n++] = low;
		r->sum += low;
		r->squares += low * low;
		*(low < 0 ? &r->falls : &r->ups) += low < 0 ? -low : low;
	}
}

double rises_slope(const struct rises *r)
{
	return r->sum / (double)r->n / (double)r->b;
}

/* ---- how sure ---- */

/* The slope's lower bound: with it taken off, rises with signs thrown by chance reach
 * such a sum in one of a hundred cases: (sum)^2 = BOUND^2 x sum of squares, solved. */
double rises_low(const struct rises *r)
{
	double n = (double)r->n, mean = r->sum / n, var = r->squares / n - mean * mean;

	if (n <= BOUND * BOUND)
		return -1e300;
	return (mean - BOUND * rises_root(var) / rises_root(n - BOUND * BOUND)) /
	       (double)r->b;
}

int rises_by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Theil and Sen's slope: the middle one of the slopes between any two marks. */
double rises_middle(const struct rises *r)
{
	static double slopes[PAIRS_OF * PAIRS_OF / 2];
	size_t every = (r->n + PAIRS_OF) / PAIRS_OF, n = 0;

	for (size_t i = 0; i <= r->n; i += every)
		for (size_t k = i + every; k <= r->n; k += every)
			slopes[n++] = (r->lows[k] - r->lows[i]) / (double)(k - i) /
				      (double)r->b;
	qsort(slopes, n, sizeof(*slopes), rises_by_size);
	return n ? slopes[n / 2] : 0;
}

/* Counts the pairs of an earlier rise and one of the tail in which the earlier one is
 * larger; ties count half. */
static double pairs_above(const struct rises *r, size_t tail)
{
	double above = 0;

	for (size_t i = 0; i < r->n - tail; i++)
		for (size_t k = r->n - tail; k < r->n; k++)
			above += r->by[i] > r->by[k] ? 1 : r->by[i] == r->by[k] ? 0.5 : 0;
	return above;
}

/* Are the last `tail` rises, `sum` in all, smaller than the others (way 1), or larger
 * (-1), by more than chance? The test compares sums, and ranks: neither a few large rises
 * nor many small ones mislead both. */
bool rises_differ(const struct rises *r, size_t tail, double sum, int way)
{
	double n = (double)r->n, t = (double)tail, mean = r->sum / n;
	double var = (r->squares / n - mean * mean) * t * (n - t) / (n - 1);
	double pairs = t * (n - t), less = way * (t * mean - sum);

	if (less > 0 && less >= APART * rises_root(var))
		return true;
	return way * (pairs_above(r, tail) - pairs / 2) >=
	       APART * rises_root(pairs * (n + 1) / 12);
}
