/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dims - a list of lists of numbers, such as the shapes of an operator's inputs, as text.
 *
 * The text is Python's: [[64, 32], [], [[2, 3], [4]]]. A list that has more levels, or a
 * text that is longer, ends in "..." where it was cut.
 *
 * Threads  one at a time.
 * Memory   the caller's, of fixed size.
 * Errors   none: whatever is no list is "".
 * Units    none.
 */
#ifndef REPORT_DIMS_H
#define REPORT_DIMS_H

#include "report/parse.h"

#define DIMS_TEXT_MOST 8192u
#define DIMS_DEEPEST   8u

struct dims {
	char text[DIMS_TEXT_MOST];
	size_t len;
	bool cut;
	int64_t first; /* the product of the first list in the list; -1 = it has none */
};

/* Takes the list behind a key, whole. */
void dims_read(struct dims *d, struct parse *p);

#endif
