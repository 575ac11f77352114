/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spaces - the memory part of a page: each space of `proflaunch memory` over time, what
 * was there at its peak, and who allocated it.
 *
 * Threads  one at a time.
 * Memory   that of the memory view, until it returns.
 * Errors   false: not enough memory.
 * Units    microseconds since the model's begin, bytes.
 */
#ifndef REPORT_PAGE_SPACES_H
#define REPORT_PAGE_SPACES_H

#include "report/view/subject.h"

#define SPACES_ROWS 500u /* of a table of operators or call sites: those with most */

/* A JSON object: "categories", each [name, how it is told], and "spaces". */
bool spaces_print(struct subject *s, FILE *out);

#endif
