/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whose - the lines that a report begins with: whose it is, and what is missing in it.
 *
 * Threads  one at a time.
 * Memory   none.
 * Errors   none.
 * Units    none.
 */
#ifndef REPORT_WHOSE_H
#define REPORT_WHOSE_H

#include "report/model.h"

#include <stdio.h>

/* "process: python (pid 7, rank 3), window 2"; nothing where the file does not
 * say. */
void whose_print(const struct model *m, FILE *out);
/* "INCOMPLETE: ..."; nothing where it is not. */
void whose_print_missing(const struct model *m, FILE *out);
/* --buffer-mb that would have held all; 0: something else was in the way. */
uint64_t whose_buffer(const struct model *m);

#endif
