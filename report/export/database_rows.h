/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database_rows - the rows of a trace, table by table.
 *
 * Threads  one at a time.
 * Memory   none of its own.
 * Errors   false with a line in `why`: the database cannot be used any more.
 * Units    nanoseconds; bytes.
 */
#ifndef REPORT_EXPORT_DATABASE_ROWS_H
#define REPORT_EXPORT_DATABASE_ROWS_H

#include "report/export/database.h"

bool database_rows_add(struct database *d, struct joined *j, char *why, size_t size);

#endif
