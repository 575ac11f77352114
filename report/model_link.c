/* SPDX-License-Identifier: Apache-2.0 */
/* Nests a trace's slices, and joins its memory events to them. */
#include "base/order.h"
#include "report/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

/* Equal slices keep the order of the file. */
static int by_slice(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct slice *x = (const struct slice *)arg + i;
	const struct slice *y = (const struct slice *)arg + j;

	return order_of(x->thread, y->thread) ?: order_of(x->begin, y->begin) ?:
	       order_of(y->end, x->end) ?: order_of(i, j);
}

static int by_time(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct memory_event *x = (const struct memory_event *)arg + i;
	const struct memory_event *y = (const struct memory_event *)arg + j;

	return order_of(x->ts, y->ts) ?: order_of(i, j);
}

static int by_thread(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct memory_event *x = (const struct memory_event *)arg + i;
	const struct memory_event *y = (const struct memory_event *)arg + j;

	return order_of(x->thread, y->thread) ?: by_time(a, b, arg);
}

/* Moves each row to its place, along the cycles of the permutation. */
static void permute_rows(char *rows, uint32_t *order, size_t n, size_t each, char *spare)
{
	for (size_t i = 0; i < n; i++) {
		size_t to = i;

		if (order[i] == i)
			continue;
		memcpy(spare, rows + i * each, each);
		while (order[to] != i) {
			size_t from = order[to];

			memcpy(rows + to * each, rows + from * each, each);
			order[to] = (uint32_t)to;
			to = from;
		}
		memcpy(rows + to * each, spare, each);
		order[to] = (uint32_t)to;
	}
}

/* Sorts the rows' numbers and moves each row once, as rows are large. False: no memory,
 * and the rows are as they were. */
static bool sort_rows(void *rows, size_t n, size_t each,
		      int (*compare)(const void *, const void *, void *))
{
	uint32_t *order, row = 0, next = 1;
	char *spare;

	while (next < n && compare(&row, &next, rows) < 0)
		row++, next++;
	if (next >= n)
		return true;
	order = malloc(n * sizeof(*order));
	spare = malloc(each);
	for (size_t i = 0; order && i < n; i++)
		order[i] = (uint32_t)i;
	if (order && spare) {
		qsort_r(order, n, sizeof(*order), compare, rows);
		permute_rows(rows, order, n, each, spare);
	}
	free(order);
	free(spare);
	return order && spare;
}

static int by_begin(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return order_of(x->begin, y->begin) ?: order_of(x->end, y->end);
}

/* Sorts steps, and keeps each number once and no step inside another. */
static void sort_steps(struct model *m)
{
	size_t kept = 0;

	if (m->steps_n)
		qsort(m->steps, m->steps_n, sizeof(*m->steps), by_begin);
	for (size_t i = 0; i < m->steps_n; i++)
		if (!kept || (m->steps[i].number != m->steps[kept - 1].number &&
			      m->steps[i].end > m->steps[kept - 1].end))
			m->steps[kept++] = m->steps[i];
	m->steps_n = kept;
}

/* ---- nesting ---- */

/* Times are rounded, and Python's frames are off by a little (pytorch 174555): by so much
 * a slice may stand out of the slice around it. */
#define SLACK_NS 1000

/* The innermost slice around [begin, end] among those that are open; NO_ROW: none. */
static uint32_t enclosing_slice(const struct model *m, uint32_t top, int64_t begin,
				int64_t end)
{
	while (top != NO_ROW &&
	       (m->slices[top].end <= begin || m->slices[top].end < end - SLACK_NS))
		top = m->slices[top].parent;
	return top;
}

/* Nests one thread's slices [at, last) and memory events from `memory` on, both by
 * time. */
static size_t nest_thread(struct model *m, size_t at, size_t last, size_t memory,
			  uint32_t thread)
{
	uint32_t top = NO_ROW;

	while (true) {
		struct memory_event *e = memory < m->memory_n ? &m->memory[memory] : NULL;

		if (e && e->thread != thread)
			e = NULL;
		if (at < last && (!e || m->slices[at].begin <= e->ts)) {
			struct slice *s = &m->slices[at];

			top = enclosing_slice(m, top, s->begin, s->end);
			s->parent = top;
			top = (uint32_t)at++;
		} else if (e) {
			top = enclosing_slice(m, top, e->ts, e->ts);
			e->slice = top;
			memory++;
		} else {
			return memory;
		}
	}
}

/* Nests thread after thread: slices and memory events are sorted by thread here. */
static void nest_all(struct model *m)
{
	size_t at = 0, memory = 0;

	while (at < m->slices_n || memory < m->memory_n) {
		uint32_t thread = NO_ROW;
		size_t last = at;

		if (at < m->slices_n)
			thread = m->slices[at].thread;
		if (memory < m->memory_n && m->memory[memory].thread < thread)
			thread = m->memory[memory].thread;
		while (last < m->slices_n && m->slices[last].thread == thread)
			last++;
		memory = nest_thread(m, at, last, memory, thread);
		at = last;
	}
}

bool model_link(struct model *m)
{
	sort_steps(m);
	if (!sort_rows(m->slices, m->slices_n, sizeof(*m->slices), by_slice) ||
	    !sort_rows(m->memory, m->memory_n, sizeof(*m->memory), by_thread))
		return false;
	nest_all(m);
	return sort_rows(m->memory, m->memory_n, sizeof(*m->memory), by_time);
}
