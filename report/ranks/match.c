/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts each rank's collectives by step, name and time, and walks all ranks together. */
#include "report/ranks/match.h"
#include "base/array.h"
#include "base/order.h"
#include "base/search.h"

#include <stdlib.h>

struct key {
	int64_t step; /* its number; -1 = outside of steps */
	uint32_t group, name, row;
};

struct keys {
	struct key *row;
	size_t n;
	uint32_t *groups; /* that the rank is in, each once */
	size_t groups_n;
};

#define ABSENT SIZE_MAX /* a rank that is not in the group */

/* The row is the order of time: collectives are sorted by begin. */
static int by_step(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	return order_of(a->step, b->step) ?: order_of(a->group, b->group) ?:
	       order_of(a->name, b->name) ?: order_of(a->row, b->row);
}

/* The row is left out on purpose: it only orders calls of one name in a step. */
static bool is_same(const struct key *a, const struct key *b)
{
	return a->step == b->step && a->group == b->group && a->name == b->name;
}

/* For sorting. */
static int by_id(const void *left, const void *right)
{
	return order_of(*(const uint32_t *)left, *(const uint32_t *)right);
}

/* A rank's collectives by what makes them the same on other ranks, and its groups. */
static bool sort_keys(struct keys *k, const struct rank *r)
{
	size_t n = 0;

	k->row = malloc((r->collectives_n + 1) * sizeof(*k->row));
	k->groups = malloc((r->collectives_n + 1) * sizeof(*k->groups));
	for (size_t i = 0; k->row && k->groups && i < r->collectives_n; i++) {
		const struct collective *c = &r->collectives[i];
		int64_t step = c->step < 0 ? -1 : r->steps[c->step].number;

		k->groups[k->n] = c->group;
		k->row[k->n++] = (struct key){ step, c->group, c->name, (uint32_t)i };
	}
	if (!k->n)
		return k->row && k->groups;
	qsort(k->row, k->n, sizeof(*k->row), by_step);
	qsort(k->groups, k->n, sizeof(*k->groups), by_id);
	for (size_t i = 0; i < k->n; i++)
		if (!n || k->groups[n - 1] != k->groups[i])
			k->groups[n++] = k->groups[i];
	k->groups_n = n;
	return true;
}

/* How many of the same there are from `at` on. */
static size_t count_same(const struct keys *k, size_t at)
{
	size_t n = at;

	while (n < k->n && is_same(&k->row[at], &k->row[n]))
		n++;
	return n - at;
}

/* Where the same collectives begin in another rank; its n: nowhere. */
static size_t find_same(const struct keys *k, const struct key *want)
{
	struct key least = *want;
	size_t at;

	least.row = 0;
	at = SEARCH_FIRST(i, 0, k->n, by_step(&k->row[i], &least) >= 0);
	return at < k->n && is_same(&k->row[at], want) ? at : k->n;
}

#define LISTED_MOST 64u

struct listed { /* ranks that a file says are in a group; none = it does not say all */
	int64_t rank[LISTED_MOST];
	size_t n;
};

/* "NAME [0, 1]"; torch shortens long lists by "...". */
static void list_ranks(struct listed *l, const struct texts *names, uint32_t group)
{
	const char *text = group == TEXT_NONE ? "" : texts_get(names, group);
	const char *at = strrchr(text, '[');
	char *end;

	l->n = 0;
	for (at = at ? at + 1 : ""; l->n < LISTED_MOST; at = end + strspn(end, ", ")) {
		int64_t rank = strtoll(at, &end, 10);

		if (end == at)
			break;
		l->rank[l->n++] = rank;
	}
	if (*at != ']')
		l->n = 0;
}

/* Is the rank in the group? In an unknown one all ranks are. */
static bool is_member(const struct keys *k, const struct rank *r, uint32_t group,
		      const struct listed *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->rank[i] == r->number)
			return true;
	if (l->n)
		return false;
	return group == TEXT_NONE ||
	       bsearch(&group, k->groups, k->groups_n, sizeof(group), by_id);
}

/* Finds the n that begin at `first` of the owner in all ranks of the group. Returns how
 * many ranks; 0: one of them has not as many, is not there, or stands before the owner.
 */
static size_t find_members(const struct match *m, const struct rank *ranks,
			   const struct keys *keys, size_t owner, size_t first, size_t n,
			   size_t *at)
{
	const struct key *want = &keys[owner].row[first];
	struct listed listed;
	size_t members = 0;

	list_ranks(&listed, m->names, want->group);
	for (size_t i = 0; i < m->ranks; i++) {
		at[i] = ABSENT;
		if (!is_member(&keys[i], &ranks[i], want->group, &listed))
			continue;
		if (i < owner)
			return 0;
		at[i] = i == owner ? first : find_same(&keys[i], want);
		if (at[i] == keys[i].n || count_same(&keys[i], at[i]) != n)
			return 0;
		members++;
	}
	if (listed.n && members != listed.n)
		return 0;
	return members;
}

/* Joins one collective of each rank that is there. */
static bool join_one(struct match *m, struct rank *ranks, const struct keys *keys,
		     const size_t *at, size_t nth)
{
	int64_t least = INT64_MAX;

	if (m->n >= NO_ROW)
		return false;
	for (size_t i = 0; i < m->ranks; i++) {
		size_t rows = m->n * m->ranks + i;
		const struct collective *c;

		if (!GROW(m->row, m->room, rows))
			return false;
		m->row[rows] = at[i] == ABSENT ? NO_ROW : keys[i].row[at[i] + nth].row;
		c = match_of(m, ranks, m->n, i);
		if (c && c->end - c->begin < least)
			least = c->end - c->begin;
	}
	for (size_t i = 0; i < m->ranks; i++) {
		uint32_t row = m->row[m->n * m->ranks + i];

		if (row == NO_ROW)
			continue;
		ranks[i].collectives[row].joined = true;
		ranks[i].collectives[row].transfer = least;
	}
	m->n++;
	return true;
}

/* Joins what a rank has, and no rank before it. `at` has room for all ranks. */
static bool join_of(struct match *m, struct rank *ranks, const struct keys *keys,
		    size_t owner, size_t *at)
{
	const struct keys *k = &keys[owner];

	for (size_t first = 0, n; first < k->n; first += n) {
		size_t members = 0;

		n = count_same(k, first);
		if (k->row[first].group != TEXT_NONE || !m->parts)
			members = find_members(m, ranks, keys, owner, first, n, at);
		for (size_t nth = 0; nth < n && (members > 1 || m->ranks == 1); nth++)
			if (!join_one(m, ranks, keys, at, nth))
				return false;
	}
	return true;
}

static void count_alone(struct match *m, const struct rank *ranks)
{
	m->alone = 0;
	for (size_t i = 0; i < m->ranks; i++)
		for (size_t c = 0; c < ranks[i].collectives_n; c++)
			m->alone += !ranks[i].collectives[c].joined;
}

/* Are there smaller groups, and collectives of which the group is not said? */
static bool has_parts(const struct rank *ranks, size_t n)
{
	bool parts = false, unsaid = false;

	for (size_t i = 0; i < n; i++) {
		parts |= ranks[i].parts;
		for (size_t c = 0; c < ranks[i].collectives_n; c++)
			unsaid |= ranks[i].collectives[c].group == TEXT_NONE;
	}
	return parts && unsaid;
}

bool match_make(struct match *m, struct rank *ranks, size_t n, const struct texts *names)
{
	struct keys *keys = calloc(n + 1, sizeof(*keys));
	size_t *at = calloc(n + 1, sizeof(*at));
	bool fine = keys && at;

	*m = (struct match){ .ranks = n,
			     .names = names,
			     .parts = n > 1 && has_parts(ranks, n) };
	for (size_t i = 0; fine && i < n; i++)
		fine = sort_keys(&keys[i], &ranks[i]);
	for (size_t i = 0; fine && i < n; i++)
		fine = join_of(m, ranks, keys, i, at);
	count_alone(m, ranks);
	for (size_t i = 0; keys && i < n; i++) {
		free(keys[i].row);
		free(keys[i].groups);
	}
	free(keys);
	free(at);
	if (!fine)
		match_free(m);
	return fine;
}

void match_undo(struct match *m, struct rank *ranks)
{
	for (size_t i = 0; i < m->ranks; i++)
		for (size_t c = 0; c < ranks[i].collectives_n; c++) {
			struct collective *one = &ranks[i].collectives[c];

			one->joined = false;
			one->transfer = one->end - one->begin;
		}
	m->n = 0;
	count_alone(m, ranks);
}

void match_free(struct match *m)
{
	free(m->row);
	*m = (struct match){ 0 };
}
