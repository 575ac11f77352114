/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blame - which place most of a time comes from.
 *
 * Threads  one at a time.
 * Memory   12 bytes for each text of the model; blame_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_ADVICE_BLAME_H
#define REPORT_ADVICE_BLAME_H

#include "report/advice/facts.h"

struct blame {
	const struct facts *f;
	int64_t *time; /* by phrase_key */
	uint32_t *first; /* a slice of that place */
	int64_t all;
	uint32_t most; /* a key; TEXT_NONE = nothing was added */
};

bool blame_start(struct blame *b, const struct facts *f);
void blame_free(struct blame *b);
void blame_add(struct blame *b, uint32_t slice, int64_t time);
/* Is more than half of it at one place? */
bool blame_is_most(const struct blame *b);
/* "aten::item, train.py(14): main (80 % of it)" */
const char *blame_place(const struct blame *b);

#endif
