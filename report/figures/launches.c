/* SPDX-License-Identifier: Apache-2.0 */
/* Operators and annotations by "External id". Calls of the runtime have their operator's
 * number, too, and are none. */
#include "report/figures/launches.h"
#include "base/order.h"
#include "base/search.h"
#include "report/row_order.h"

#include <stdlib.h>

static int by_external(const void *left, const void *right)
{
	const struct launch *a = left, *b = right;

	return order_of(a->external, b->external);
}

bool launches_make(struct launches *l, const struct model *m)
{
	struct row_order order = { .each = sizeof(*l->rows), .compare = by_external };

	*l = (struct launches){ 0 };
	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];

		if (!s->external || (s->kind != SLICE_OP && s->kind != SLICE_NOTE))
			continue;
		if (!GROW(l->rows, l->room, l->n)) {
			launches_free(l);
			return false;
		}
		l->rows[l->n++] = (struct launch){ s->external, i };
	}
	order.rows = l->rows;
	order.n = l->n;
	if (row_order_sort(&order))
		return true;
	launches_free(l);
	return false;
}

uint32_t launches_numbered(const struct launches *l, uint32_t external)
{
	size_t at = SEARCH_FIRST(i, 0, l->n, l->rows[i].external >= external);

	return external && at < l->n && l->rows[at].external == external
		       ? l->rows[at].slice
		       : NO_ROW;
}

uint32_t launches_op(const struct launches *l, const struct slice *device)
{
	return launches_numbered(l, device->external);
}

void launches_free(struct launches *l)
{
	free(l->rows);
	*l = (struct launches){ 0 };
}
