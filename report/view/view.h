/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view - one question about a trace, answered in one format.
 *
 * Threads  one at a time.
 * Memory   that of its table, meanwhile.
 * Errors   false with a line in `why`; what was written is then not to be shown.
 * Units    none.
 */
#ifndef REPORT_VIEW_VIEW_H
#define REPORT_VIEW_VIEW_H

#include "report/view/screen.h"
#include "report/view/subject.h"
#include "report/view/table.h"

enum view {
	VIEW_OVERVIEW,
	VIEW_OPS,
	VIEW_KERNELS,
	VIEW_STEPS,
	VIEW_MEMORY,
	VIEW_MODULES,
	VIEW_PYTHON,
	VIEW_WORKERS,
	VIEW_DISTRIBUTED,
	VIEW_COLLECTIVES,
	VIEW_THREADS,
	VIEW_TRACE,
	VIEWS
};
extern const char *const view_names[VIEWS];

enum view_format { VIEW_TABLE, VIEW_CSV, VIEW_JSON, VIEW_MARKDOWN, VIEW_FORMATS };
extern const char *const view_formats[VIEW_FORMATS];

struct view_order {
	enum view view;
	enum view_format format;
	const char *sort; /* a column's key; NULL = the view's own order */
	size_t limit; /* 0 = the view's own */
	bool like_torch;
};

/* The rows of a view, "what the numbers are of", and why there may be none of them. */
bool view_rows(enum view view, struct table *t, struct subject *s);
const char *view_title(const struct subject *s, enum view view);
const char *view_empty(enum view view);
bool view_print(struct subject *s, const struct view_order *o, const struct screen *to,
		char *why, size_t size);

#endif
