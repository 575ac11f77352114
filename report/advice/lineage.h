/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lineage - which slices have a name of some sort, and which lie inside one that has.
 *
 * Threads  any.
 * Memory   a byte a slice, to be freed.
 * Errors   NULL: not enough memory.
 * Units    none.
 */
#ifndef REPORT_ADVICE_LINEAGE_H
#define REPORT_ADVICE_LINEAGE_H

#include "report/model.h"

enum { LINEAGE_ITSELF = 1, LINEAGE_INSIDE = 2 };

unsigned char *lineage_make(const struct model *m, bool (*is)(const char *name));

#endif
