/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions - a row for each function of Python, or for each line that called operators.
 *
 * Functions are slices of torch's own files ("python_function"); files of proflaunch have
 * the lines that called operators instead: the innermost of a "Call stack". What lies
 * outside of [from, to) is cut off, so that a loop that began long ago counts.
 *
 * Threads  one at a time.
 * Memory   72 bytes a row; while they are made 26 bytes a slice and 21 a text of the
 *          model; functions_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds; sums stay at their ends.
 */
#ifndef REPORT_FIGURES_FUNCTIONS_H
#define REPORT_FIGURES_FUNCTIONS_H

#include "report/model.h"

enum function_whose { WHOSE_PROGRAM, WHOSE_TORCH, WHOSE_LIBRARY, WHOSE_BUILTIN };

struct function_figures {
	uint32_t name, place; /* texts of the model; place: file:line, TEXT_NONE = none */
	enum function_whose whose;
	uint64_t count; /* calls; of a line: operators that it called itself */
	uint64_t outermost; /* calls that are in no other call of it; of a line 0 */
	int64_t own; /* without the functions inside; of a line: of its operators */
	int64_t operators; /* of that: operators that it called itself */
	int64_t total; /* once where a function calls itself; of a line: as own */
};

struct functions {
	struct function_figures *row; /* by own time */
	size_t n, room;
	int64_t own; /* of all rows */
	bool lines; /* rows are lines that called operators */
};

/* Has the file functions of Python, not only modules, and lines that called operators? */
bool functions_are_there(const struct model *m);
/* Has it these, or lines in "Call stack"s? */
bool functions_have_lines(const struct model *m);
bool functions_make(struct functions *f, struct model *m, int64_t from, int64_t to);
void functions_free(struct functions *f);

/* "yours", "torch", "library", "built-in". */
const char *functions_whose(enum function_whose whose);

#endif
