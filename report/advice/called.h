/* SPDX-License-Identifier: Apache-2.0 */
/*
 * called - the function of Python, or of C that Python calls, in which a time was spent.
 *
 * Threads  one at a time.
 * Memory   8 bytes for each text of the model, meanwhile.
 * Errors   false: not enough memory.
 * Units    percent of the time.
 */
#ifndef REPORT_ADVICE_CALLED_H
#define REPORT_ADVICE_CALLED_H

#include "report/advice/facts.h"

struct called {
	const char *name; /* of the model; NULL: the file has no functions */
	const char
		*from; /* the program's own function that called it, or the outermost */
	unsigned percent;
};

/* The one that most of the spans belongs to, without the functions that it calls, on the
 * thread of a slice. */
bool called_most(const struct facts *f, const struct spans *s, uint32_t slice,
		 struct called *found);

#endif
