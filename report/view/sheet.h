/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sheet - one view of several traces in one table: its first columns say which trace.
 *
 * Threads  one at a time.
 * Memory   24 bytes a cell and each text once, beside the trace that is added;
 *          sheet_free.
 * Errors   false with a line in `why`: the trace is not in the table.
 * Units    as the view's columns say.
 */
#ifndef REPORT_VIEW_SHEET_H
#define REPORT_VIEW_SHEET_H

#include "report/view/table.h"
#include "report/view/view.h"

struct sheet {
	enum view view;
	struct subject_options options;
	struct table table;
	struct table_column columns[TABLE_COLUMNS];
	struct texts texts;
	struct damage damage; /* of the trace that was added last */
};

void sheet_begin(struct sheet *s, enum view view, const struct subject_options *o);
/* *rows: the trace has some; without, `why` says what it lacks. */
bool sheet_add(struct sheet *s, const char *path, bool *rows, char *why, size_t size);
void sheet_free(struct sheet *s);

#endif
