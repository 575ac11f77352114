/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome - trace files as one that every viewer reads, cut to steps and threads.
 *
 * Threads  one at a time.
 * Memory   one event; where something is cut, the model's and 16 bytes an arrow's end.
 * Errors   false with a line in `why`. `out` has its own.
 * Units    none.
 */
#ifndef REPORT_EXPORT_CHROME_H
#define REPORT_EXPORT_CHROME_H

#include "report/export/cut.h"
#include "report/export/rewrite.h"

struct chrome {
	struct rewrite rewrite;
	const struct cut_options *options;
	bool several; /* traces: each is told from the others */
};

void chrome_begin(struct chrome *c, const struct cut_options *o, bool several, FILE *out);
bool chrome_add(struct chrome *c, const char *path, char *why, size_t size);
/* False: nothing was added. */
bool chrome_end(struct chrome *c);

#endif
