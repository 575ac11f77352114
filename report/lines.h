/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines - the lines of Python in a "Call stack", which may have native frames as well;
 * and those that are the program's own: neither torch's nor the interpreter's.
 *
 * Threads  any; pure.
 * Memory   the caller's.
 * Errors   none.
 * Units    bytes.
 */
#ifndef REPORT_LINES_H
#define REPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_MOST 300 /* of a frame's text; what is longer is cut */

/* The innermost frame of Python's of a stack, and its length; NULL: there is none. */
const char *line_innermost(const char *stack, size_t *len);
/* Is the frame of Python's the program's own? */
bool line_is_own(const char *frame);
/* Takes the next own frame from *stack, innermost first; false: there are no more. */
bool lines_next(const char **stack, char frame[LINE_MOST + 1]);

#endif
