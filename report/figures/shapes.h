/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes - texts of input shapes as torch's tables have them.
 *
 * Files say which shapes the tensors of a list have, [[2, 3], [[4], [5]]]; torch's events
 * do not: [[2, 3], []].
 *
 * Threads  one at a time.
 * Memory   4 bytes a text of the model; shapes_free.
 * Errors   TEXT_NONE: not enough memory.
 * Units    none.
 */
#ifndef REPORT_FIGURES_SHAPES_H
#define REPORT_FIGURES_SHAPES_H

#include "report/texts.h"

struct shapes {
	struct texts *texts;
	uint32_t *plain; /* by text */
	size_t n;
};

bool shapes_begin(struct shapes *s, struct texts *texts);
/* The number of the text without lists of lists; that of "[]" for TEXT_NONE. */
uint32_t shapes_plain(struct shapes *s, uint32_t text);
void shapes_free(struct shapes *s);

#endif
