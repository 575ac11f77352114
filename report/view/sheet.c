/* SPDX-License-Identifier: Apache-2.0 */
/* A trace's texts go with it: those of its cells are copied. */
#include "report/view/sheet.h"
#include "report/whose.h"

#include <stdio.h>
#include <string.h>

enum lead { LEAD_TRACE, LEAD_RANK, LEAD_STAGE, LEAD_WINDOW, LEADS };

static const struct table_column leads[LEADS] = {
	[LEAD_TRACE] = { "trace", "Trace", TABLE_TEXT, 0 },
	[LEAD_RANK] = { "rank", "Rank", TABLE_ID, 0 },
	[LEAD_STAGE] = { "stage", "Stage", TABLE_TEXT, 0 },
	[LEAD_WINDOW] = { "window", "Window", TABLE_ID, 0 },
};

void sheet_begin(struct sheet *s, enum view view, const struct subject_options *o)
{
	*s = (struct sheet){ .view = view, .options = *o };
	table_begin(&s->table, s->columns, 0);
}

void sheet_free(struct sheet *s)
{
	table_free(&s->table);
	texts_free(&s->texts);
}

/* The columns are those of the view's first table; all of its tables have the same. */
static bool take_columns(struct sheet *s, const struct table *t)
{
	if (t->columns_n > TABLE_COLUMNS - LEADS)
		return false;
	memcpy(s->columns, leads, sizeof(leads));
	memcpy(s->columns + LEADS, t->columns, t->columns_n * sizeof(*t->columns));
	s->table.columns_n = LEADS + t->columns_n;
	return true;
}

/* False: no memory. */
static bool copy_text(struct sheet *s, const char **text)
{
	uint32_t id = *text ? texts_add(&s->texts, *text, strlen(*text)) : TEXT_NONE;

	if (*text && id == TEXT_NONE)
		return false;
	*text = *text ? texts_get(&s->texts, id) : NULL;
	return true;
}

/* Cells are copied, texts of theirs into the sheet's own. */
static bool add_row(struct sheet *s, const struct subject *from, const struct table *t,
		    size_t row)
{
	const struct whose *w = &from->model.whose;
	struct table_cell *c = table_add(&s->table);
	bool fine = c != NULL;

	if (!fine)
		return false;
	c[LEAD_TRACE].text = from->path;
	c[LEAD_RANK].n = w->rank < 0 ? TABLE_NONE : w->rank;
	c[LEAD_STAGE].text =
		*whose_stage(&from->model) ? whose_stage(&from->model) : NULL;
	c[LEAD_WINDOW].n = from->model.ours ? w->window : TABLE_NONE;
	memcpy(c + LEADS, t->cells + row * t->columns_n, t->columns_n * sizeof(*c));
	for (unsigned i = 0; fine && i < s->table.columns_n; i++)
		if (s->columns[i].unit == TABLE_TEXT)
			fine = copy_text(s, &c[i].text);
	return fine;
}

/* A trace of which only a part fits into memory is not in the table. */
static bool add_rows(struct sheet *s, struct subject *from, bool *rows, char *why,
		     size_t size)
{
	struct table t;
	size_t before = s->table.n;
	bool fine = view_rows(s->view, &t, from) && take_columns(s, &t);

	for (size_t i = 0; fine && i < t.n; i++)
		fine = add_row(s, from, &t, i);
	*rows = fine && t.n;
	if (!fine) {
		s->table.n = before;
		subject_no_memory(from, why, size);
	} else if (!*rows) {
		snprintf(why, size, "%s: %s", from->path, view_empty(s->view));
	}
	table_free(&t);
	return fine;
}

/* The trace is freed at once: its cells and their texts were copied. */
bool sheet_add(struct sheet *s, const char *path, bool *rows, char *why, size_t size)
{
	static struct subject from; /* its parts point at one another */
	bool fine;

	*rows = false;
	if (!subject_make(&from, path, &s->options, why, size))
		return false;
	s->damage = from.model.damage;
	fine = add_rows(s, &from, rows, why, size);
	subject_free(&from);
	return fine;
}
