/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept - what a file that was cut out of another one says of its steps: where they begin
 * and end in the whole file, which GPU work outside of the cut decides.
 *
 * Threads  one at a time.
 * Memory   24 bytes a step; kept_free.
 * Errors   NULL with *enough false: not enough memory. What is no list of steps is left
 *          out.
 * Units    nanoseconds.
 */
#ifndef REPORT_KEPT_H
#define REPORT_KEPT_H

#include "report/parse.h"

#define KEPT_MEMBER "proflaunch cut" /* of the file, before its events */

struct kept {
	struct kept_step {
		int64_t number, begin, end;
	} * row; /* by time; none begins before the end of the one before */
	size_t n, room;
	size_t before; /* steps of the whole file before the first of these */
};

/* Takes the value behind the key, whole. */
struct kept *kept_read(struct parse *p, bool *enough);
void kept_free(struct kept *k);

#endif
