/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Python, or lines that called operators, by the time of their own. */
#include "report/figures/functions.h"
#include "report/view/rows.h"

enum column {
	COLUMN_FUNCTION, /* without its file */
	COLUMN_PLACE, /* file:line; none of built-in ones */
	COLUMN_WHOSE, /* the program's, torch's, a library's */
	COLUMN_COUNT, /* of a line: operators that it called */
	COLUMN_OWN, /* without the functions inside */
	COLUMN_SHARE,
	COLUMN_OPERATORS, /* of the own time */
	COLUMN_TOTAL, /* with the functions inside */
	COLUMN_CALL, /* of it, for a call that is in no other of the function */
	COLUMN_SOURCE, /* functions, or stacks of operators */
	COLUMNS
};

static const struct table_column columns[] = {
	[COLUMN_FUNCTION] = { "function", "Function", TABLE_TEXT, 0 },
	[COLUMN_PLACE] = { "line", "Line", TABLE_TEXT, 0 },
	[COLUMN_WHOSE] = { "whose", "Whose", TABLE_TEXT, 2 },
	[COLUMN_COUNT] = { "count", "Calls", TABLE_COUNT, 0 },
	[COLUMN_OWN] = { "self_time", "Own", TABLE_TIME, 0 },
	[COLUMN_SHARE] = { "self_share", "of all", TABLE_SHARE, 1 },
	[COLUMN_OPERATORS] = { "operator_time", "in operators", TABLE_TIME, 4 },
	[COLUMN_TOTAL] = { "total_time", "Total", TABLE_TIME, 3 },
	[COLUMN_CALL] = { "per_call", "a call", TABLE_TIME, 5 },
	[COLUMN_SOURCE] = { "source", "Source", TABLE_TEXT, TABLE_DATA },
};

/* What a line has no number for stays unknown, so that it is no column for people. */
static void fill_row(struct table_cell *c, const struct functions *all,
		     const struct function_figures *f, const struct texts *texts)
{
	c[COLUMN_FUNCTION].text = texts_get(texts, f->name);
	if (f->place != TEXT_NONE)
		c[COLUMN_PLACE].text = texts_get(texts, f->place);
	c[COLUMN_WHOSE].text = functions_whose(f->whose);
	c[COLUMN_COUNT].n = (int64_t)f->count;
	c[COLUMN_OWN].n = f->own;
	c[COLUMN_SOURCE].text = all->lines ? "stack" : "function";
	if (all->own > 0)
		c[COLUMN_SHARE].x = (double)f->own / (double)all->own;
	/* All time of a line is that of its operators. */
	if (all->lines)
		return;
	c[COLUMN_OPERATORS].n = f->operators;
	c[COLUMN_TOTAL].n = f->total;
	if (f->outermost)
		c[COLUMN_CALL].n = f->total / (int64_t)f->outermost;
}

bool rows_python(struct table *t, struct subject *s)
{
	struct functions all;
	bool fine = functions_make(&all, &s->model, s->from, s->to);

	table_begin(t, columns, COLUMNS);
	for (size_t i = 0; fine && i < all.n; i++) {
		struct table_cell *c = table_add(t);

		fine = c != NULL;
		if (fine)
			fill_row(c, &all, &all.row[i], &s->model.texts);
	}
	functions_free(&all);
	return fine;
}
