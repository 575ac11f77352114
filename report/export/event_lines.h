/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_lines - one event a line, in JSON without levels: for DuckDB, Polars and jq.
 *
 * Each line has every key, null where it is not known: what reads a table of lines finds
 * the same columns in all.
 *
 * Threads  one at a time.
 * Memory   one line, beside the trace.
 * Errors   false: not enough memory. `out` has its own.
 * Units    nanoseconds; bytes.
 */
#ifndef REPORT_EXPORT_EVENT_LINES_H
#define REPORT_EXPORT_EVENT_LINES_H

#include "report/export/joined.h"

#include <stdio.h>

/* Slices first, by thread and time, then memory events by time. */
bool event_lines_write(const struct joined *j, FILE *out);

#endif
