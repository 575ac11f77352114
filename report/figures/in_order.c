/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the threads, which are sorted each, with a heap of their next slices. */
#include "report/figures/in_order.h"
#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>

static bool is_before(const struct in_order *o, size_t a, size_t b)
{
	uint32_t i = o->heap[a].at, j = o->heap[b].at;
	const struct slice *x = &o->m->slices[i], *y = &o->m->slices[j];

	return (order_of(x->begin, y->begin) ?: order_of(y->end, x->end) ?:
					       order_of(i, j)) < 0;
}

/* Lets a thread sink to below those whose slices are earlier. */
static void sink_thread(struct in_order *o, size_t at)
{
	while (true) {
		size_t first = at, child = 2 * at + 1;
		struct in_order_thread spare = o->heap[at];

		if (child < o->n && is_before(o, child, first))
			first = child;
		if (child + 1 < o->n && is_before(o, child + 1, first))
			first = child + 1;
		if (first == at)
			return;
		o->heap[at] = o->heap[first];
		o->heap[first] = spare;
		at = first;
	}
}

bool in_order_begin(struct in_order *o, const struct model *m)
{
	*o = (struct in_order){ .m = m };
	for (uint32_t i = 0, last; i < m->slices_n; i = last) {
		for (last = i + 1; last < m->slices_n; last++)
			if (m->slices[last].thread != m->slices[i].thread)
				break;
		if (!GROW(o->heap, o->room, o->n)) {
			in_order_end(o);
			return false;
		}
		o->heap[o->n++] = (struct in_order_thread){ i, last };
	}
	for (size_t i = o->n / 2; i-- > 0;)
		sink_thread(o, i);
	return true;
}

uint32_t in_order_next(struct in_order *o)
{
	uint32_t next;

	if (!o->n)
		return NO_ROW;
	next = o->heap->at++;
	if (o->heap->at == o->heap->last)
		*o->heap = o->heap[--o->n];
	sink_thread(o, 0);
	return next;
}

void in_order_end(struct in_order *o)
{
	free(o->heap);
	*o = (struct in_order){ 0 };
}
