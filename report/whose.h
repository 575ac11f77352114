/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whose - the lines that a report begins with: whose trace it is, and what is missing.
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

/* The stage of the run that the file is of; "" = none. */
const char *whose_stage(const struct model *m);
/* Prints "process: python train.py (pid 7, rank 3), stage train, window 2"; nothing where
 * the file does not say. */
void whose_print(const struct model *m, FILE *out);
/* Prints "INCOMPLETE: ...", and what was repaired; nothing where the trace is whole. */
void whose_print_missing(const struct model *m, FILE *out);
/* The --buffer-mb that would have held all records; 0: another reason lost some, too. */
uint64_t whose_buffer(const struct model *m);

#endif
