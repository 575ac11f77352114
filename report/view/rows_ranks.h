/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows_ranks - tables over the ranks of a distributed program.
 *
 * Threads  one at a time.
 * Memory   table_free, before the ranks go; texts are theirs.
 * Errors   false: not enough memory; the table can be freed all the same.
 * Units    as the columns say.
 */
#ifndef REPORT_VIEW_ROWS_RANKS_H
#define REPORT_VIEW_ROWS_RANKS_H

#include "report/ranks/ranks.h"
#include "report/view/table.h"

/* A rank, with means of its steps, and the verdict. */
bool rows_ranks(struct table *t, const struct ranks *all);
/* A step of a rank. */
bool rows_ranks_steps(struct table *t, const struct ranks *all);
/* A rank's collectives of one name. */
bool rows_ranks_collectives(struct table *t, const struct ranks *all);

#endif
