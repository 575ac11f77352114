/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group - what parts operators of one name: where they were called from.
 *
 * Threads  one at a time.
 * Memory   4 bytes a slice; free. Texts are added to the model's.
 * Errors   NULL: not enough memory.
 * Units    none.
 */
#ifndef REPORT_VIEW_GROUP_H
#define REPORT_VIEW_GROUP_H

#include "report/model.h"

enum group_by {
	GROUP_STACK, /* the innermost lines of Python */
	GROUP_MODULE, /* the module around */
	GROUP_PHASE, /* forward, backward, ... */
};

struct group_options {
	enum group_by by;
	unsigned frames; /* of a stack: so many */
	bool torch; /* as torch has stacks: work on a device has none */
};

#define GROUP_FRAMES_MOST 64

/* Parts the frames of a stack as torch has it; for people it is " < ". */
#define GROUP_FRAME_END '\n'

/* A text of the model for each slice; TEXT_NONE = none. */
uint32_t *group_make(struct model *m, const struct group_options *o);

#endif
