/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain - the whole stack of each slice: its Python, then the operators, annotations and
 * calls around it on its thread, then itself.
 *
 * A function of Python stands below functions of Python alone. "ProfilerStep#7" is
 * "ProfilerStep*", as in torch's tables: steps then add up.
 *
 * Threads  one at a time.
 * Memory   8 bytes a slice, and its origin's; chain_free.
 * Errors   false: not enough memory.
 * Units    none.
 */
#ifndef REPORT_EXPORT_CHAIN_H
#define REPORT_EXPORT_CHAIN_H

#include "report/export/origin.h"

struct chain {
	struct origin origin;
	uint32_t *around; /* the next slice around each that is part of chains */
	uint32_t *node; /* of the fold; FOLD_ROOT for what runs on a device */
};

bool chain_make(struct chain *c, const struct model *m, struct fold *f);
void chain_free(struct chain *c);

#endif
