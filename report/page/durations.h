/* SPDX-License-Identifier: Apache-2.0 */
/*
 * durations - how long the pieces of each row of kernels took: how many by powers of two.
 *
 * Threads  one at a time.
 * Memory   12 bytes a text and 64 a row until it returns.
 * Errors   false: not enough memory.
 * Units    bin 0 is below 2 microseconds, each other twice the one before; the last holds
 *          all that is longer.
 */
#ifndef REPORT_PAGE_DURATIONS_H
#define REPORT_PAGE_DURATIONS_H

#include "report/view/subject.h"

#define DURATIONS_BINS 16u

/* A JSON list of lists, in the order of the subject's kernels. */
bool durations_print(const struct subject *s, FILE *out);

#endif
