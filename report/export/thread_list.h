/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_list - which threads of a trace `--threads main,7` means.
 *
 * Threads  one at a time.
 * Memory   the caller's.
 * Errors   false with a line in `why`: a word names no thread.
 * Units    none.
 */
#ifndef REPORT_EXPORT_THREAD_LIST_H
#define REPORT_EXPORT_THREAD_LIST_H

#include "report/export/cut.h"

/* `listed`: by thread of the model, all false before. */
bool thread_list_find(const struct model *m, const char *path,
		      const struct cut_options *o, bool *listed, char *why, size_t size);

#endif
