/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts each rank's collectives by step, name and time, and walks all ranks together. */
#include "report/ranks/match.h"
#include "base/array.h"
#include "base/order.h"
#include "base/search.h"

#include <stdlib.h>

struct key {
	int64_t step; /* its number; -1 = outside of steps */
	uint32_t name, row;
};

struct keys {
	struct key *row;
	size_t n;
};

/* The row is the order of time: collectives are sorted by begin. */
static int by_step(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	return order_of(a->step, b->step) ?: order_of(a->name, b->name) ?:
	       order_of(a->row, b->row);
}

/* The row is left out on purpose: it only orders calls of one name in a step. */
static bool is_same(const struct key *a, const struct key *b)
{
	return a->step == b->step && a->name == b->name;
}

/* A rank's collectives by what makes them the same on other ranks. */
static bool sort_keys(struct keys *k, const struct rank *r)
{
	k->row = malloc((r->collectives_n + 1) * sizeof(*k->row));
	for (size_t i = 0; k->row && i < r->collectives_n; i++) {
		const struct collective *c = &r->collectives[i];
		int64_t step = c->step < 0 ? -1 : r->steps[c->step].number;

		k->row[k->n++] = (struct key){ step, c->name, (uint32_t)i };
	}
	if (k->n)
		qsort(k->row, k->n, sizeof(*k->row), by_step);
	return k->row;
}

/* How many of the same step and name there are from `at` on. */
static size_t count_same(const struct keys *k, size_t at)
{
	size_t n = at;

	while (n < k->n && is_same(&k->row[at], &k->row[n]))
		n++;
	return n - at;
}

/* Where a step's collectives of a name begin in another rank; its n: nowhere. */
static size_t find_same(const struct keys *k, const struct key *want)
{
	struct key least = { want->step, want->name, 0 };
	size_t at = SEARCH_FIRST(i, 0, k->n, by_step(&k->row[i], &least) >= 0);

	return at < k->n && is_same(&k->row[at], want) ? at : k->n;
}

/* Joins one collective of each rank. */
static bool join_one(struct match *m, struct rank *ranks, const struct keys *keys,
		     const size_t *at, size_t nth)
{
	int64_t least = INT64_MAX;

	if (m->n >= NO_ROW)
		return false;
	for (size_t i = 0; i < m->ranks; i++) {
		const struct key *key = &keys[i].row[at[i] + nth];
		const struct collective *c = &ranks[i].collectives[key->row];
		size_t rows = m->n * m->ranks + i;

		least = c->end - c->begin < least ? c->end - c->begin : least;
		if (!GROW(m->row, m->room, rows))
			return false;
		m->row[rows] = key->row;
	}
	for (size_t i = 0; i < m->ranks; i++) {
		struct collective *c = &ranks[i].collectives[m->row[m->n * m->ranks + i]];

		c->mates = (uint32_t)m->n;
		c->transfer = least;
	}
	m->n++;
	return true;
}

/* The first rank's groups are enough: what it does not have is not in all ranks. */
static bool join_groups(struct match *m, struct rank *ranks, const struct keys *keys,
			size_t *at)
{
	for (size_t first = 0, n; first < keys[0].n; first += n) {
		bool all = true;

		n = count_same(&keys[0], first);
		at[0] = first;
		for (size_t i = 1; i < m->ranks; i++) {
			at[i] = find_same(&keys[i], &keys[0].row[first]);
			all &= at[i] < keys[i].n && count_same(&keys[i], at[i]) == n;
		}
		for (size_t nth = 0; all && nth < n; nth++)
			if (!join_one(m, ranks, keys, at, nth))
				return false;
	}
	return true;
}

bool match_make(struct match *m, struct rank *ranks, size_t n)
{
	struct keys *keys = calloc(n + 1, sizeof(*keys));
	size_t *at = calloc(n + 1, sizeof(*at));
	bool fine = keys && at;

	*m = (struct match){ .ranks = n };
	for (size_t i = 0; fine && i < n; i++)
		fine = sort_keys(&keys[i], &ranks[i]);
	fine = fine && (!n || join_groups(m, ranks, keys, at));
	for (size_t i = 0; fine && i < n; i++)
		m->alone += ranks[i].collectives_n - m->n;
	for (size_t i = 0; keys && i < n; i++)
		free(keys[i].row);
	free(keys);
	free(at);
	if (!fine)
		match_free(m);
	return fine;
}

void match_free(struct match *m)
{
	free(m->row);
	*m = (struct match){ 0 };
}
