/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table - rows of one kind, which every format prints from the same cells.
 *
 * Threads  one at a time.
 * Memory   24 bytes a cell; table_free. Texts are the caller's, and stay as long.
 * Errors   NULL or false: not enough memory.
 * Units    by column; nanoseconds, bytes, shares from 0 to 1.
 */
#ifndef REPORT_VIEW_TABLE_H
#define REPORT_VIEW_TABLE_H

#include "report/view/screen.h"

#include <stdint.h>

#define TABLE_COLUMNS 20u
#define TABLE_ALL     SIZE_MAX /* a limit: all rows */
#define TABLE_DATA    UINT32_MAX /* a drop: for programs alone */
#define TABLE_DEEPEST 20 /* so far a text is moved in */

enum table_unit {
	TABLE_TEXT, /* a name: cut in its middle; `n` is how deep it lies in a tree */
	TABLE_COUNT, /* `n`: 12,345 */
	TABLE_ID, /* `n`: 12345 */
	TABLE_TIME, /* `n` */
	TABLE_BYTES, /* `n` */
	TABLE_SHARE, /* `x` */
	TABLE_NUMBER, /* `x`, with two decimals */
	TABLE_FLAG, /* `n`: yes or no */
};

struct table_column {
	const char *key, *title; /* for programs; for people */
	enum table_unit unit;
	unsigned drop; /* the largest leaves first where width lacks; 0 = it stays */
};

struct table_cell {
	const char *text; /* NULL, */
	int64_t n; /* TABLE_NONE */
	double x; /* or NaN: not known */
};
#define TABLE_NONE INT64_MIN

struct table {
	const struct table_column *columns;
	unsigned columns_n;
	struct table_cell *cells;
	size_t n, room; /* rows; cells */
};

void table_begin(struct table *t, const struct table_column *columns, unsigned n);
void table_free(struct table *t);
/* The cells of a new row, none of them known yet. */
struct table_cell *table_add(struct table *t);
/* Sorts by a column: numbers from the largest, texts from the least, what is not known at
 * the end; equal rows stay in order. False: no memory. */
bool table_sort(struct table *t, unsigned column);
/* -1: no column has that key. */
int table_column(const struct table *t, const char *key);
/* Is there nothing for people: zeros, and what is not known? Never of the first column.
 */
bool table_says_nothing(const struct table *t, unsigned column);
/* A cell for people, "-" where it is not known. Texts are as they are. */
const char *table_words(const struct table *t, size_t row, unsigned column);

/* Columns that say something: those that fit, and which did not; in Markdown all. */
void table_text(const struct table *t, const struct screen *s, size_t limit);
void table_markdown(const struct table *t, const struct screen *s, size_t limit);
/* table_data.c: keys and plain numbers, times in microseconds; JSON a list of objects. */
void table_csv(const struct table *t, FILE *out, size_t limit);
void table_json(const struct table *t, FILE *out, size_t limit);
/* Members of a JSON object: "columns" of [key, title, unit, drop], "rows" of their
 * values. */
void table_arrays(const struct table *t, FILE *out, size_t limit);

#endif
