/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of cells, and their order. */
#include "report/view/table.h"
#include "base/order.h"
#include "report/out.h"
#include "report/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void table_begin(struct table *t, const struct table_column *columns, unsigned n)
{
	*t = (struct table){ .columns = columns, .columns_n = n };
}

void table_free(struct table *t)
{
	free(t->cells);
	t->cells = NULL;
	t->n = t->room = 0;
}

struct table_cell *table_add(struct table *t)
{
	size_t need = (t->n + 1) * t->columns_n;
	struct table_cell *row;

	if (need > t->room) {
		size_t room = 2 * t->room > need ? 2 * t->room : 16 * need;
		void *at = reallocarray(t->cells, room, sizeof(*t->cells));

		if (!at)
			return NULL;
		t->cells = at;
		t->room = room;
	}
	row = t->cells + t->n++ * t->columns_n;
	for (unsigned i = 0; i < t->columns_n; i++)
		row[i] = (struct table_cell){ .n = TABLE_NONE, .x = NAN };
	return row;
}

/* A table shows titles, and CSV keys: one of them may be copied from either. */
int table_column(const struct table *t, const char *key)
{
	for (unsigned i = 0; i < t->columns_n; i++)
		if (!strcmp(key, t->columns[i].key))
			return (int)i;
	for (unsigned i = 0; i < t->columns_n; i++)
		if (!strcasecmp(key, t->columns[i].title))
			return (int)i;
	return -1;
}

/* ---- order ---- */

struct sorted {
	const struct table_cell *row;
	const struct table_cell *by;
	enum table_unit unit;
};

static int by_number(double a, double b)
{
	return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a < b) - (a > b);
}

static int by_cell(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;
	int order;

	if (a->unit == TABLE_TEXT)
		order = !a->by->text || !b->by->text ? !a->by->text - !b->by->text
						     : strcmp(a->by->text, b->by->text);
	else if (a->unit == TABLE_SHARE || a->unit == TABLE_NUMBER)
		order = by_number(a->by->x, b->by->x);
	else
		order = order_of(b->by->n, a->by->n); /* TABLE_NONE is the least */
	return order ?: (a->row > b->row) - (a->row < b->row);
}

bool table_sort(struct table *t, unsigned column)
{
	size_t each = t->columns_n * sizeof(*t->cells);
	struct sorted *order;
	struct table_cell *cells;

	if (t->n < 2)
		return true;
	order = calloc(t->n, sizeof(*order));
	cells = malloc(t->n * each);
	if (!order || !cells) {
		free(order);
		free(cells);
		return false;
	}
	for (size_t i = 0; i < t->n; i++) {
		const struct table_cell *row = t->cells + i * t->columns_n;

		order[i] = (struct sorted){ row, row + column, t->columns[column].unit };
	}
	qsort(order, t->n, sizeof(*order), by_cell);
	for (size_t i = 0; i < t->n; i++)
		memcpy(cells + i * t->columns_n, order[i].row, each);
	free(order);
	free(t->cells);
	t->cells = cells;
	t->room = t->n * t->columns_n;
	return true;
}

/* ---- what is in it ---- */

static bool is_nothing(const struct table_cell *c, enum table_unit unit)
{
	if (unit == TABLE_TEXT)
		return !c->text;
	if (unit == TABLE_SHARE || unit == TABLE_NUMBER)
		return isnan(c->x) || c->x == 0;
	return c->n == TABLE_NONE || c->n == 0;
}

bool table_says_nothing(const struct table *t, unsigned column)
{
	if (t->columns[column].drop == TABLE_DATA)
		return true;
	for (size_t row = 0; row < t->n; row++)
		if (!is_nothing(&t->cells[row * t->columns_n + column],
				t->columns[column].unit))
			return false;
	return column > 0;
}

/* ---- words ---- */

static const char *number_words(double x)
{
	char *out = out_buffer();

	snprintf(out, OUT_BUFFER, "%.2f", x);
	return out;
}

static const char *id_words(int64_t n)
{
	char *out = out_buffer();

	snprintf(out, OUT_BUFFER, "%lld", (long long)n);
	return out;
}

const char *table_words(const struct table *t, size_t row, unsigned column)
{
	const struct table_cell *c = &t->cells[row * t->columns_n + column];
	enum table_unit unit = t->columns[column].unit;

	if (unit == TABLE_TEXT)
		return c->text ? c->text : "-";
	if (unit == TABLE_SHARE || unit == TABLE_NUMBER) {
		if (isnan(c->x))
			return "-";
		return unit == TABLE_SHARE ? units_percent(c->x) : number_words(c->x);
	}
	if (c->n == TABLE_NONE)
		return "-";
	switch (unit) {
	case TABLE_TIME:
		return units_time(c->n);
	case TABLE_BYTES:
		return out_bytes(c->n);
	case TABLE_FLAG:
		return c->n ? "yes" : "no";
	case TABLE_ID:
		return id_words(c->n);
	default:
		return out_count(c->n);
	}
}
