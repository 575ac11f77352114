/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the runs and merges neighbours, again and again; equal rows keep their order. */
#include "report/figures/runs.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_MOST 256 /* with more of them qsort is as fast */

struct runs {
	size_t start[RUNS_MOST + 1], n; /* the last start is the end of all */
	size_t each;
	int (*compare)(const void *, const void *);
};

/* n becomes more than RUNS_MOST where they are too many. */
static void find_runs(struct runs *r, const char *rows, size_t n)
{
	r->start[0] = 0;
	r->n = 1;
	for (size_t i = 1; i < n; i++) {
		if (r->compare(rows + (i - 1) * r->each, rows + i * r->each) <= 0)
			continue;
		if (r->n == RUNS_MOST) {
			r->n++;
			return;
		}
		r->start[r->n++] = i;
	}
	r->start[r->n] = n;
}

/* Merges [a, b) and [b, end) of one array into the other. */
static void merge_two(const struct runs *r, const char *from, char *to, size_t a,
		      size_t b, size_t end)
{
	size_t first = a, second = b, each = r->each;

	for (size_t at = a; first < b && second < end; at++) {
		size_t *next = r->compare(from + first * each, from + second * each) <= 0
				       ? &first
				       : &second;

		memcpy(to + at * each, from + *next * each, each);
		++*next;
	}
	/* One of them is at its end; the other's rest stands behind what was merged. */
	if (first < b)
		memcpy(to + (first + end - b) * each, from + first * each,
		       (b - first) * each);
	else
		memcpy(to + second * each, from + second * each, (end - second) * each);
}

/* Half as many runs, in the other array. */
static void merge_neighbours(struct runs *r, const char *from, char *to)
{
	size_t kept = 0, end = r->start[r->n];

	for (size_t i = 0; i < r->n; i += 2) {
		size_t middle = r->start[i + 1];

		merge_two(r, from, to, r->start[i], middle,
			  i + 1 < r->n ? r->start[i + 2] : middle);
		r->start[kept++] = r->start[i];
	}
	r->n = kept;
	r->start[kept] = end;
}

void runs_sort(void *rows, size_t n, size_t each,
	       int (*compare)(const void *, const void *))
{
	struct runs r = { .each = each, .compare = compare };
	char *from = rows, *to, *other;

	if (n < 2)
		return;
	find_runs(&r, rows, n);
	if (r.n == 1)
		return;
	to = other = r.n > RUNS_MOST ? NULL : malloc(n * each);
	if (!other) {
		qsort(rows, n, each, compare);
		return;
	}
	while (r.n > 1) {
		char *merged = to;

		merge_neighbours(&r, from, to);
		to = from;
		from = merged;
	}
	if (from == other)
		memcpy(rows, other, n * each);
	free(other);
}
