/* SPDX-License-Identifier: Apache-2.0 */
/* Merges stretches that are in order already, two by two, until there is one left. */
#include "writer/sort.h"
#include "writer/pile.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct sorting {
	size_t n, each;
	bool (*before)(const void *a, const void *b);
};

/* One past the stretch of elements in order that begins at `from`. */
static size_t end_of_stretch(const struct sorting *s, const uint8_t *at, size_t from)
{
	size_t i = from + 1;

	while (i < s->n && !s->before(at + i * s->each, at + (i - 1) * s->each))
		i++;
	return i < s->n ? i : s->n;
}

/* Of equal elements the one of the first stretch comes first: that keeps the sort
 * stable. */
static void merge_stretches(const struct sorting *s, const uint8_t *from, uint8_t *to,
			    size_t a, size_t middle, size_t end)
{
	size_t b = middle;

	to += a * s->each;
	for (; a < middle && b < end; to += s->each) {
		size_t *next =
			s->before(from + b * s->each, from + a * s->each) ? &b : &a;

		memcpy(to, from + (*next)++ * s->each, s->each);
	}
	memcpy(to, from + a * s->each, (middle - a) * s->each);
	to += (middle - a) * s->each;
	memcpy(to, from + b * s->each, (end - b) * s->each);
}

/* Merges the stretches of `from` two by two; returns how many there were. */
static size_t merge_pairs(const struct sorting *s, const uint8_t *from, uint8_t *to)
{
	size_t found = 0;

	for (size_t a = 0, end; a < s->n; a = end) {
		size_t middle = end_of_stretch(s, from, a);

		end = middle < s->n ? end_of_stretch(s, from, middle) : middle;
		merge_stretches(s, from, to, a, middle, end);
		found += 1 + (end > middle);
	}
	return found;
}

int sort_merge(void *array, size_t n, size_t each,
	       bool (*before)(const void *a, const void *b))
{
	const struct sorting s = { n, each, before };
	uint8_t *spare, *from = array, *to;
	size_t found;

	if (n < 2 || end_of_stretch(&s, array, 0) == n)
		return 0;
	spare = to = pile_map(n * each);
	if (!spare)
		return -ENOMEM;
	do {
		uint8_t *done = to;

		found = merge_pairs(&s, from, to);
		to = from;
		from = done;
	} while (found > 2);
	if (from != array)
		memcpy(array, from, n * each);
	pile_unmap(spare, n * each);
	return 0;
}
