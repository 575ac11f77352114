/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a table of memory: one for each label. */
#include "report/memory/memory.h"

#include <stdlib.h>
#include <string.h>

/* Returns the row of a label, made at its first use; NULL: no memory. The row may move
 * with the next call. */
struct memory_row *memory_row(struct memory_table *t, struct texts *texts, uint32_t label)
{
	size_t key = label == TEXT_NONE ? 0 : (size_t)label + 1;

	if (key >= t->labels) {
		size_t labels = texts->n + texts->n / 2 + 64;
		uint32_t *grown = realloc(t->row_of, labels * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + t->labels, 0xff, (labels - t->labels) * sizeof(*grown));
		t->row_of = grown;
		t->labels = labels;
	}
	if (t->row_of[key] == NO_ROW) {
		if (!GROW(t->rows, t->room, t->n))
			return NULL;
		t->rows[t->n] = (struct memory_row){ .label = label };
		t->row_of[key] = (uint32_t)t->n++;
	}
	return &t->rows[t->row_of[key]];
}

static int most_at_last(const void *a, const void *b)
{
	const struct memory_row *x = *(struct memory_row *const *)a;
	const struct memory_row *y = *(struct memory_row *const *)b;

	if (x->last != y->last)
		return x->last > y->last ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Keeps steps for the MEMORY_GROWING rows that hold most at the end; rows that hold
 * nothing then have not grown. */
bool memory_keep_steps(struct memory_table *t, size_t steps)
{
	struct memory_row **order;
	bool fine = true;

	if (!t->n || !steps)
		return true;
	order = malloc(t->n * sizeof(*order));
	if (!order)
		return false;
	for (size_t i = 0; i < t->n; i++)
		order[i] = &t->rows[i];
	qsort(order, t->n, sizeof(*order), most_at_last);
	for (size_t i = 0; fine && i < t->n && i < MEMORY_GROWING; i++) {
		if (order[i]->last <= 0)
			break;
		order[i]->steps = calloc(steps + 1, sizeof(int64_t));
		fine = order[i]->steps != NULL;
	}
	free(order);
	return fine;
}
