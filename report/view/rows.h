/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows - the tables of the views, each in a file of its own: rows_operators.c, ...
 *
 * Threads  one at a time.
 * Memory   table_free, before the subject goes; texts are the model's.
 * Errors   false: not enough memory; the table can be freed all the same.
 * Units    as the columns say.
 */
#ifndef REPORT_VIEW_ROWS_H
#define REPORT_VIEW_ROWS_H

#include "report/view/subject.h"
#include "report/view/table.h"

/* An operator, with torch's names for its columns. */
bool rows_operators(struct table *t, struct subject *s);
/* A kernel, copy or set. */
bool rows_kernels(struct table *t, struct subject *s);
/* A step, and where its time went. */
bool rows_steps(struct table *t, struct subject *s);
/* A share of the mean step. */
bool rows_shares(struct table *t, struct subject *s);
/* A device's tensor memory. */
bool rows_memory(struct table *t, struct subject *s);
/* A thread of the program. */
bool rows_threads(struct table *t, struct subject *s);
/* A GPU, and how well it was used. */
bool rows_devices(struct table *t, struct subject *s);
/* A place of a module among others. */
bool rows_modules(struct table *t, struct subject *s);
/* A function of Python, or a line that called operators. */
bool rows_python(struct table *t, struct subject *s);
/* A child process: a worker of the DataLoader. */
bool rows_workers(struct table *t, struct subject *s);
/* A step of a rank, of all ranks that are known. */
bool rows_distributed(struct table *t, struct subject *s);
/* A rank's collectives of one name. */
bool rows_collectives(struct table *t, struct subject *s);
/* A fact about the recording. */
bool rows_trace(struct table *t, struct subject *s);

#endif
