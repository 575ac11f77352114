/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folded - the text format of flamegraph.pl and inferno: a line for each stack, frames
 * outermost first and parted by ';', a blank, its value.
 *
 * Threads  one at a time.
 * Memory   4 bytes a stack until it returns.
 * Errors   false: not enough memory. `out` has its own.
 * Units    `unit` of the fold's weights are one in the file.
 */
#ifndef REPORT_EXPORT_FOLDED_H
#define REPORT_EXPORT_FOLDED_H

#include "report/export/fold.h"

#include <stdio.h>

/* Writes whole numbers whose sum is that of all weights: what a line's fraction leaves
 * goes to the next line. */
bool folded_write(const struct fold *f, int64_t unit, FILE *out);

#endif
