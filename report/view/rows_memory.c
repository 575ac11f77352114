/* SPDX-License-Identifier: Apache-2.0 */
/* The spaces of `proflaunch memory`, a row each: its call sites are that command's. */
#include "report/memory/memory.h"
#include "report/view/rows.h"

enum column {
	COLUMN_SPACE,
	COLUMN_PEAK,
	COLUMN_STEP,
	COLUMN_OP,
	COLUMN_END,
	COLUMN_RESERVED,
	COLUMN_ALLOCS,
	COLUMN_BYTES,
	COLUMN_FREES,
	COLUMN_FREED,
	COLUMNS
};

static const struct table_column columns[] = {
	[COLUMN_SPACE] = { "space", "Space", TABLE_TEXT, 0 },
	[COLUMN_PEAK] = { "peak", "Peak", TABLE_BYTES, 0 },
	[COLUMN_STEP] = { "peak_step", "in step", TABLE_ID, 1 },
	[COLUMN_OP] = { "peak_operator", "Operator then", TABLE_TEXT, 4 },
	[COLUMN_END] = { "kept", "Kept of it", TABLE_BYTES, 0 },
	[COLUMN_RESERVED] = { "reserved", "Reserved", TABLE_BYTES, 2 },
	[COLUMN_ALLOCS] = { "allocations", "Allocations", TABLE_COUNT, 0 },
	[COLUMN_BYTES] = { "allocated", "Allocated", TABLE_BYTES, 0 },
	[COLUMN_FREES] = { "frees", "Frees", TABLE_COUNT, 3 },
	[COLUMN_FREED] = { "freed", "Freed", TABLE_BYTES, 3 },
};

/* Names of spaces are kept with the model: the view goes first. */
static const char *keep_name(struct model *m, const char *name)
{
	return texts_get(&m->texts, texts_add(&m->texts, name, strlen(name)));
}

static void fill_row(struct table_cell *c, const struct memory_space *space,
		     struct model *m)
{
	c[COLUMN_SPACE].text = keep_name(m, space->name);
	c[COLUMN_PEAK].n = space->peak;
	c[COLUMN_STEP].n = space->peak_step >= 0 ? space->peak_step : TABLE_NONE;
	c[COLUMN_OP].text =
		space->peak_op == TEXT_NONE ? NULL : texts_get(&m->texts, space->peak_op);
	c[COLUMN_END].n = space->end;
	c[COLUMN_RESERVED].n = space->reserved ? space->reserved : TABLE_NONE;
	c[COLUMN_ALLOCS].n = space->allocs;
	c[COLUMN_BYTES].n = space->bytes;
	c[COLUMN_FREES].n = space->frees;
	c[COLUMN_FREED].n = space->freed;
}

bool rows_memory(struct table *t, struct subject *s)
{
	struct memory_options o = {
		.top = 1, .depth = 1, .first = INT64_MIN, .last = INT64_MAX
	};
	struct memory_view v;
	bool fine;

	table_begin(t, columns, COLUMNS);
	fine = memory_make(&v, &s->model, &o);
	for (size_t i = 0; fine && i < v.spaces_n; i++) {
		struct table_cell *c = table_add(t);

		fine = c != NULL;
		if (fine)
			fill_row(c, &v.spaces[i], &s->model);
	}
	memory_free(&v);
	return fine;
}
