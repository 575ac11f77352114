/* SPDX-License-Identifier: Apache-2.0 */
/* Threads write their rows in order, but in turns: rows go to their groups first. */
#include "report/row_order.h"

#include <stdlib.h>
#include <string.h>

/* Rows have any type: only their size is known here. */
static const char *row_at(const struct row_order *o, size_t row)
{
	return (const char *)o->rows + row * o->each;
}

/* Many files are in order: this spares them all memory for sorting. */
static bool is_sorted(const struct row_order *o)
{
	for (size_t i = 1; i < o->n; i++)
		if (o->compare(row_at(o, i - 1), row_at(o, i)) > 0)
			return false;
	return true;
}

/* A group that is too large goes to the last one, so that no count is out of bounds. */
static uint32_t group_of(const struct row_order *o, size_t row)
{
	uint32_t group;

	memcpy(&group, row_at(o, row) + o->group_at, sizeof(group));
	return group < o->groups ? group : (uint32_t)o->groups - 1;
}

/* Fills the order, group after group. False: no memory. */
static bool collect_groups(const struct row_order *o, uint32_t *order)
{
	uint32_t *next = calloc(o->groups + 1, sizeof(*next));

	if (!next)
		return false;
	for (size_t i = 0; i < o->n; i++)
		next[group_of(o, i) + 1]++;
	for (size_t g = 1; g <= o->groups; g++)
		next[g] += next[g - 1];
	for (size_t i = 0; i < o->n; i++)
		order[next[group_of(o, i)]++] = (uint32_t)i;
	free(next);
	return true;
}

/* Where the rows that are in order from `from` on end. */
static size_t run_end(const struct row_order *o, const uint32_t *order, size_t from)
{
	size_t i = from + 1;

	while (i < o->n && o->compare(row_at(o, order[i - 1]), row_at(o, order[i])) <= 0)
		i++;
	return i;
}

/* Merges [0, mid) and [mid, end) of the order. */
static void merge_runs(const struct row_order *o, uint32_t *order, size_t mid, size_t end,
		       uint32_t *spare)
{
	size_t left = 0, right = mid, to = 0;

	memcpy(spare, order, mid * sizeof(*order));
	while (left < mid && right < end)
		order[to++] =
			o->compare(row_at(o, spare[left]), row_at(o, order[right])) <= 0
				? spare[left++]
				: order[right++];
	memcpy(order + to, spare + left, (mid - left) * sizeof(*order));
}

/* Merges pairs of runs until there is one. */
static void merge_all(const struct row_order *o, uint32_t *order, uint32_t *spare)
{
	size_t runs;

	do {
		runs = 0;
		for (size_t from = 0, mid, end; from < o->n; from = end, runs++) {
			mid = end = run_end(o, order, from);
			if (mid == o->n)
				continue;
			end = run_end(o, order, mid);
			merge_runs(o, order + from, mid - from, end - from, spare);
		}
	} while (runs > 1);
}

#define AHEAD 12 /* rows of a cycle that are asked for before they are needed */

/* Moves the rows of one cycle of the permutation: the row at `first` comes from where the
 * order says, and so on. */
static void move_cycle(const struct row_order *o, uint32_t *order, size_t first)
{
	char spare[256], *rows = o->rows;
	size_t to = first, ahead = first;

	for (unsigned i = 0; i < AHEAD; i++)
		ahead = order[ahead];
	memcpy(spare, rows + first * o->each, o->each);
	while (order[to] != first) {
		size_t from = order[to];

		/* Behind its end a cycle begins anew, where rows have been moved: then
		 * this asks in vain, for their order says themselves. */
		ahead = order[ahead];
		__builtin_prefetch(rows + ahead * o->each);
		__builtin_prefetch(rows + (ahead + 1) * o->each - 1);
		memcpy(rows + to * o->each, rows + from * o->each, o->each);
		order[to] = (uint32_t)to;
		to = from;
	}
	memcpy(rows + to * o->each, spare, o->each);
	order[to] = (uint32_t)to;
}

bool row_order_sort(const struct row_order *o)
{
	uint32_t *order, *spare;
	bool fine;

	if (is_sorted(o))
		return true;
	order = malloc(o->n * sizeof(*order));
	spare = malloc(o->n * sizeof(*spare));
	fine = order && spare;
	if (fine && o->groups)
		fine = collect_groups(o, order);
	else
		for (size_t i = 0; fine && i < o->n; i++)
			order[i] = (uint32_t)i;
	if (fine) {
		merge_all(o, order, spare);
		for (size_t i = 0; i < o->n; i++)
			if (order[i] != i)
				move_cycle(o, order, i);
	}
	free(order);
	free(spare);
	return fine;
}
