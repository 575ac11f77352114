/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quiet - the times in which no thread of torch did anything that the file knows of: no
 * operator, no call, no collective, no loader.
 *
 * Threads  one at a time.
 * Memory   16 bytes an operator while it is made; spans_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_ADVICE_QUIET_H
#define REPORT_ADVICE_QUIET_H

#include "report/advice/facts.h"

/* `to` becomes these times between the first judged step's begin and the last one's end;
 * where a GPU was busy is none of them. */
bool quiet_make(const struct facts *f, struct spans *to);

#endif
