/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_source - the column "Source Location" of torch's table: the lines of Python that
 * called an operator, one below the other, and a line of blanks.
 *
 * Threads  one at a time.
 * Memory   none.
 * Errors   none.
 * Units    columns of the terminal.
 */
#ifndef REPORT_VIEW_TORCH_SOURCE_H
#define REPORT_VIEW_TORCH_SOURCE_H

#include <stddef.h>
#include <stdio.h>

/* `frames`: as group_make has them for torch; NULL = none. What is too wide loses its
 * beginning. */

/* How wide the widest of the frames is; 0 = there are none. */
size_t torch_source_columns(const char *frames);
/* Writes the row's own cell: the innermost frame. `right`: 0, or how wide the column is
 * where torch puts lines of that width at the right of another one. */
void torch_source_first(FILE *out, const char *frames, size_t width, size_t right);
/* Writes the lines below a row whose other columns take `before`. */
void torch_source_rest(FILE *out, const char *frames, size_t before, size_t width,
		       size_t right);

#endif
