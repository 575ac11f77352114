/* SPDX-License-Identifier: Apache-2.0 */
/* Nests a trace's slices, and joins its memory events to them. */
#include "base/order.h"
#include "report/model.h"
#include "report/row_order.h"

#include <stddef.h>
#include <stdlib.h>

/* ---- order ---- */

static int by_slice(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	return order_of(x->thread, y->thread) ?: order_of(x->begin, y->begin) ?:
	       order_of(y->end, x->end);
}

static int by_time(const void *a, const void *b)
{
	const struct memory_event *x = a, *y = b;

	return order_of(x->ts, y->ts);
}

static int by_thread(const void *a, const void *b)
{
	const struct memory_event *x = a, *y = b;

	return order_of(x->thread, y->thread) ?: order_of(x->ts, y->ts);
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
	const struct row_order slices = { .rows = m->slices,
					  .n = m->slices_n,
					  .each = sizeof(*m->slices),
					  .compare = by_slice,
					  .group_at = offsetof(struct slice, thread),
					  .groups = m->threads_n };
	struct row_order memory = { .rows = m->memory,
				    .n = m->memory_n,
				    .each = sizeof(*m->memory),
				    .compare = by_thread,
				    .group_at = offsetof(struct memory_event, thread),
				    .groups = m->threads_n };

	sort_steps(m);
	if (!row_order_sort(&slices) || !row_order_sort(&memory))
		return false;
	nest_all(m);
	memory.compare = by_time;
	memory.groups = 0;
	return row_order_sort(&memory);
}
