/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pauses - what Python waits for, where the file has it (--python-events).
 *
 * Threads  one at a time.
 * Memory   the caller's spans; spans_free, after false too.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_ADVICE_PAUSES_H
#define REPORT_ADVICE_PAUSES_H

#include "report/advice/facts.h"

/* Adds those of a sort, on one thread; NO_ROW: on any. */
bool pauses_add(const struct facts *f, enum slice_sort sort, uint32_t thread,
		struct spans *to);
/* The thread that runs the judged steps: it begins most operators in them; NO_ROW = there
 * are none. */
bool pauses_thread(const struct facts *f, uint32_t *thread);

#endif
