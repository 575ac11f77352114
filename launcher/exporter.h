/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exporter - one trace after the other into a format.
 *
 * Threads  one.
 * Memory   the format's; exporter_end frees all.
 * Errors   false after a line on stderr.
 * Units    none.
 */
#ifndef LAUNCHER_EXPORTER_H
#define LAUNCHER_EXPORTER_H

#include "report/export/chrome.h"
#include "report/export/database_rows.h"
#include "report/export/export.h"
#include "report/export/pstats.h"
#include "report/view/sheet.h"

enum exporter_format { /* the first are those of enum export_format */
		       EXPORTER_CHROME = EXPORT_SPEEDSCOPE + 1,
		       EXPORTER_SQLITE,
		       EXPORTER_EVENTS,
		       EXPORTER_CSV,
		       EXPORTER_MD,
		       EXPORTER_PSTATS,
};

struct exporter {
	int format;
	enum export_by by; /* of stacks */
	enum view view; /* of tables */
	struct cut_options cut;
	bool several; /* there is more than one trace */
	FILE *out;
	struct export stacks;
	struct chrome chrome;
	struct database database;
	struct sheet sheet;
	struct pstats pstats;
};

/* `path`: the name of the file that `out` writes; NULL = standard output. */
bool exporter_begin(struct exporter *x, FILE *out, const char *path);
/* *any: something of the trace was exported. What it lacks is said. */
bool exporter_add(struct exporter *x, const char *path, bool *any);
/* Writes the rest, where anything was exported. */
bool exporter_end(struct exporter *x, bool any);

static inline bool exporter_is_stacks(const struct exporter *x)
{
	return x->format < EXPORTER_CHROME;
}

#endif
