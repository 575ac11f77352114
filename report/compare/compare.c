/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs the rows of two profiles by kind and name, and tests each. */
#include "report/compare/compare.h"
#include "report/figures/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SURE 0.05

/* ---- a row ---- */

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* All values of a row; with `windows` the median of each window instead. NULL: no
 * memory. */
static double *copy_values(const struct profile *p, const struct profile_row *r,
			   bool windows, size_t *n)
{
	double *to = malloc((p->steps_n + 1) * sizeof(*to));
	size_t from = 0, medians = 0;

	*n = p->steps_n;
	for (size_t i = 0; to && i < p->steps_n; i++)
		to[i] = profile_value(r, i);
	if (!to || !windows)
		return to;
	for (size_t i = 1; i <= p->steps_n; i++) {
		if (i < p->steps_n && p->window[i] == p->window[from])
			continue;
		qsort(to + from, i - from, sizeof(*to), by_value);
		to[medians++] = median_of_sorted(to + from, i - from);
		from = i;
	}
	*n = medians;
	return to;
}

static bool shift_rows(struct shift *s, const struct profile *a,
		       const struct profile_row *x, const struct profile *b,
		       const struct profile_row *y, bool windows)
{
	size_t a_n, b_n;
	double *left = copy_values(a, x, windows, &a_n);
	double *right = copy_values(b, y, windows, &b_n);
	bool fine = left && right && shift_make(s, left, a_n, right, b_n);

	free(left);
	free(right);
	return fine;
}

bool compare_values(struct shift *s, const struct profile *a, const struct profile_row *x,
		    const struct profile *b, const struct profile_row *y)
{
	struct shift windows;

	if (!shift_rows(s, a, x, b, y, false))
		return false;
	if (a->windows_n < 2 || b->windows_n < 2)
		return true;
	if (!shift_rows(&windows, a, x, b, y, true))
		return false;
	if (windows.interval && s->interval) {
		s->low = fmin(s->low, windows.low);
		s->high = fmax(s->high, windows.high);
		s->p = fmax(s->p, windows.p);
	}
	return true;
}

/* ---- all rows ---- */

/* The median of a row's values. False: no memory. */
static bool row_median(const struct profile *p, const struct profile_row *r, double *to)
{
	size_t n;
	double *values = copy_values(p, r, false, &n);

	if (!values)
		return false;
	qsort(values, n, sizeof(*values), by_value);
	*to = median_of_sorted(values, n);
	free(values);
	return true;
}

/* Is the row at least a small part of a step, on one side? Peaks of memory always are.
 * The medians are cheap, all differences of a row are not. False: no memory. */
static bool is_large(const struct compare *c, const struct profile *a,
		     const struct profile_row *x, const struct profile *b,
		     const struct profile_row *y, bool *large)
{
	double left, right;

	if (!row_median(a, x, &left) || !row_median(b, y, &right))
		return false;
	*large = left >= COMPARE_LEAST * c->step.shift.a ||
		 right >= COMPARE_LEAST * c->step.shift.b;
	return true;
}

static bool add_row(struct compare *c, const struct profile *a, const struct profile *b,
		    enum profile_kind kind, const char *name)
{
	const struct profile_row *x = profile_find(a, kind, name);
	const struct profile_row *y = profile_find(b, kind, name);
	struct compare_row r = { .name = name, .kind = kind, .in_a = x, .in_b = y };
	bool large = true;

	if (kind != PROFILE_STEP && kind != PROFILE_PEAK &&
	    !is_large(c, a, x, b, y, &large))
		return false;
	if (!large) {
		c->small[kind]++;
		return true;
	}
	if (!compare_values(&r.shift, a, x, b, y))
		return false;
	r.p = r.shift.p;
	if (kind == PROFILE_STEP) {
		c->step = r;
		return true;
	}
	if (!GROW(c->row, c->room, c->n))
		return false;
	c->row[c->n++] = r;
	return true;
}

/* Rows of `b` alone come behind those of `a`: all names once. */
static bool add_rows(struct compare *c, const struct profile *a, const struct profile *b)
{
	for (size_t i = 0; i < a->rows_n; i++)
		if (profile_kind(a, i) != PROFILE_STEP &&
		    !add_row(c, a, b, profile_kind(a, i), profile_name(a, i)))
			return false;
	for (size_t i = 0; i < b->rows_n; i++) {
		enum profile_kind kind = profile_kind(b, i);

		if (kind != PROFILE_STEP && !profile_find(a, kind, profile_name(b, i)) &&
		    !add_row(c, a, b, kind, profile_name(b, i)))
			return false;
	}
	return true;
}

static bool is_sure(const struct compare_row *r)
{
	return r->shift.interval && r->p < SURE &&
	       (r->shift.low > 0 || r->shift.high < 0);
}

/* Adjusts the rows of each kind together. */
static bool adjust_rows(struct compare *c)
{
	double *p = malloc((c->n + 1) * sizeof(*p));
	bool fine = p;

	for (unsigned kind = 0; fine && kind < PROFILE_KINDS; kind++) {
		size_t n = 0, at = 0;

		for (size_t i = 0; i < c->n; i++)
			if (c->row[i].kind == kind)
				p[n++] = c->row[i].p;
		fine = shift_adjust(p, n);
		for (size_t i = 0; fine && i < c->n; i++)
			if (c->row[i].kind == kind)
				c->row[i].p = p[at++];
	}
	free(p);
	c->step.sure = is_sure(&c->step);
	for (size_t i = 0; i < c->n; i++)
		c->row[i].sure = is_sure(&c->row[i]);
	return fine;
}

static int by_size(const void *left, const void *right)
{
	const struct compare_row *a = left, *b = right;
	double x = fabs(a->shift.by), y = fabs(b->shift.by);

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return x != y ? (x > y ? -1 : 1) : strcmp(a->name, b->name);
}

bool compare_make(struct compare *c, const struct profile *a, const struct profile *b)
{
	*c = (struct compare){ 0 };
	if (!a->steps_n || !b->steps_n)
		return true;
	if (!add_row(c, a, b, PROFILE_STEP, "step") || !add_rows(c, a, b) ||
	    !adjust_rows(c)) {
		compare_free(c);
		return false;
	}
	if (c->n)
		qsort(c->row, c->n, sizeof(*c->row), by_size);
	return true;
}

void compare_free(struct compare *c)
{
	free(c->row);
	*c = (struct compare){ 0 };
}
