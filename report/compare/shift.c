/* SPDX-License-Identifier: Apache-2.0 */
/* The rank statistics of two samples. */
#include "report/compare/shift.h"
#include "report/figures/median.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define EXACT_MOST 25u
#define QUANTILE   1.959963984540054 /* of the normal distribution, 97.5 % */
#define TAIL       0.025

static int order_values(double a, double b)
{
	return (a > b) - (a < b);
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return order_values(*a, *b);
}

/* Copies at most SHIFT_MOST values, evenly chosen, in rising order. NULL: no memory. */
static double *sorted_copy(const double *values, size_t n, size_t *kept)
{
	double *copy;

	*kept = n < SHIFT_MOST ? n : SHIFT_MOST;
	copy = malloc((*kept + 1) * sizeof(*copy));
	for (size_t i = 0; copy && i < *kept; i++)
		copy[i] = values[(size_t)((double)i * (double)n / (double)*kept)];
	if (copy)
		qsort(copy, *kept, sizeof(*copy), by_value);
	return copy;
}

/* ---- how U is distributed where there is no shift ---- */

/* The probabilities of U = 0 ... n m, by the coefficients of Gauss's binomial (n + m over
 * n): a value of `b` more multiplies by (1 - q^(n+k)) / (1 - q^k). */
static void exact_distribution(double *p, size_t n, size_t m)
{
	size_t last = n * m;
	double all = 0;

	for (size_t u = 0; u <= last; u++)
		p[u] = u == 0;
	for (size_t k = 1; k <= m; k++) {
		for (size_t u = last; u >= n + k; u--)
			p[u] -= p[u - n - k];
		for (size_t u = k; u <= last; u++)
			p[u] += p[u - k];
	}
	for (size_t u = 0; u <= last; u++)
		all += p[u];
	for (size_t u = 0; u <= last; u++)
		p[u] /= all;
}

struct ranks {
	const double *a, *b; /* both in rising order */
	size_t n, m;
	double u; /* pairs with b above a, ties as halves */
	double variance; /* of U where there is no shift */
	bool ties;
};

/* Walks through both samples together, from one distinct value to the next. */
static void count_pairs(struct ranks *r)
{
	size_t i = 0, k = 0, n = r->n, m = r->m, all = n + m;
	double tied = 0;

	r->u = 0;
	r->ties = false;
	while (i < n || k < m) {
		double value = k == m || (i < n && r->a[i] < r->b[k]) ? r->a[i] : r->b[k];
		size_t equal_a = 0, equal_b = 0, equal;

		while (i + equal_a < n && r->a[i + equal_a] == value)
			equal_a++;
		while (k + equal_b < m && r->b[k + equal_b] == value)
			equal_b++;
		equal = equal_a + equal_b;
		r->u += (double)equal_b * ((double)i + (double)equal_a / 2);
		r->ties |= equal > 1;
		tied += (double)equal * ((double)equal * (double)equal - 1);
		i += equal_a;
		k += equal_b;
	}
	r->variance = (double)n * (double)m / 12 * ((double)all + 1);
	if (all > 1)
		r->variance -= (double)n * (double)m / 12 * tied /
			       ((double)all * ((double)all - 1));
}

static bool is_exact(const struct ranks *r)
{
	return r->n <= EXACT_MOST && r->m <= EXACT_MOST && !r->ties;
}

/* Two-sided p, and how many differences lie outside of the interval on each side; -1:
 * the interval has no end. */
static double exact_p(const struct ranks *r, long *outside)
{
	static double p[EXACT_MOST * EXACT_MOST + 1];
	size_t last = r->n * r->m, u = (size_t)r->u;
	double below = 0, up_to = 0, sum = 0;

	exact_distribution(p, r->n, r->m);
	*outside = -1;
	for (size_t i = 0; i <= last; i++) {
		sum += p[i];
		if (sum <= TAIL)
			*outside = (long)i;
		if (i < u)
			below = sum;
		if (i == u)
			up_to = sum;
	}
	sum = 2 * fmin(up_to, 1 - below);
	return sum < 1 ? sum : 1;
}

static double normal_p(const struct ranks *r, long *outside)
{
	double middle = (double)r->n * (double)r->m / 2,
	       deviation = sqrt(fmax(r->variance, 0));
	double off = fabs(r->u - middle) - 0.5; /* 0.5: U is a whole number */

	*outside = (long)floor(middle - QUANTILE * deviation - 0.5);
	if (deviation <= 0 || off <= 0)
		return 1;
	return erfc(off / deviation / sqrt(2));
}

/* ---- the shift ---- */

/* All differences b - a in rising order. NULL: no memory. */
static double *sorted_differences(const struct ranks *r)
{
	double *d = malloc(r->n * r->m * sizeof(*d));
	size_t at = 0;

	for (size_t i = 0; d && i < r->n; i++)
		for (size_t k = 0; k < r->m; k++)
			d[at++] = r->b[k] - r->a[i];
	if (d)
		qsort(d, at, sizeof(*d), by_value);
	return d;
}

static bool shift_of(struct shift *s, struct ranks *r)
{
	double *d = sorted_differences(r);
	size_t n = r->n * r->m;
	long outside;

	if (!d)
		return false;
	count_pairs(r);
	s->p = is_exact(r) ? exact_p(r, &outside) : normal_p(r, &outside);
	s->a = median_of_sorted(r->a, r->n);
	s->b = median_of_sorted(r->b, r->m);
	s->by = median_of_sorted(d, n);
	s->interval = outside >= 0;
	s->low = s->interval ? d[outside] : -INFINITY;
	s->high = s->interval ? d[n - 1 - (size_t)outside] : INFINITY;
	s->a_n = r->n;
	s->b_n = r->m;
	free(d);
	return true;
}

bool shift_make(struct shift *s, const double *a, size_t a_n, const double *b, size_t b_n)
{
	struct ranks r = { 0 };
	double *left = sorted_copy(a, a_n, &r.n), *right = sorted_copy(b, b_n, &r.m);
	bool fine = left && right;

	r.a = left;
	r.b = right;
	fine = fine && shift_of(s, &r);
	free(left);
	free(right);
	return fine;
}

/* ---- many tests ---- */

static int by_p(const void *left, const void *right, void *arg)
{
	const double *p = arg;
	const size_t *a = left, *b = right;

	return order_values(p[*a], p[*b]);
}

bool shift_adjust(double *p, size_t n)
{
	size_t *order = malloc((n + 1) * sizeof(*order));
	double least = 1;

	if (!order)
		return false;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), by_p, p);
	/* The largest first: a smaller p is adjusted to no more than a larger one. */
	for (size_t i = n; i-- > 0;) {
		double adjusted = p[order[i]] * (double)n / (double)(i + 1);

		least = adjusted < least ? adjusted : least;
		p[order[i]] = least;
	}
	free(order);
	return true;
}
