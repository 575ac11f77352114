/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin - where in Python each slice of a trace came from.
 *
 * That is its "Call stack", else that of what it lies in; functions of Python that are
 * slices themselves (torch's python_function) are frames of what they enclose. A backward
 * operator has the stack of its forward operator: the one of the same "Sequence number".
 *
 * Threads  one at a time.
 * Memory   9 bytes a slice, 8 a text of the model; origin_free.
 * Errors   false: not enough memory.
 * Units    none.
 */
#ifndef REPORT_EXPORT_ORIGIN_H
#define REPORT_EXPORT_ORIGIN_H

#include "report/export/fold.h"
#include "report/model.h"

#define ORIGIN_BACKWARD "(backward)"

struct origin {
	const struct model *m;
	struct fold *f;
	bool torch; /* exactly as torch's export_stacks has it */
	bool lines; /* frames of Python's alone; a file of torch's has no others */
	bool any; /* some slice has a stack of Python */
	uint32_t *node; /* a node of the fold for each slice; FOLD_ROOT = none */
	uint32_t *python; /* the innermost function of Python that was running */
	bool *within; /* the slice lies in a backward pass */
	uint32_t *frames, *stacks; /* of the model's texts, as far as they were needed */
};

enum origin_of { ORIGIN_FRAMES, ORIGIN_LINES, ORIGIN_TORCH };
bool origin_make(struct origin *o, const struct model *m, struct fold *f,
		 enum origin_of of);
void origin_free(struct origin *o);
/* The node of a text of the model below another node. */
uint32_t origin_below(struct origin *o, uint32_t node, uint32_t text);

#endif
