/* SPDX-License-Identifier: Apache-2.0 */
/*
 * difference - what two runs of a program differ in, in words.
 *
 * Threads  one at a time.
 * Memory   that of its comparison; difference_free. Names and profiles are the caller's.
 * Errors   false: not enough memory.
 * Units    as in compare.h.
 */
#ifndef REPORT_COMPARE_DIFFERENCE_H
#define REPORT_COMPARE_DIFFERENCE_H

#include "report/compare/compare.h"

#define DIFFERENCE_DOUBTS 11u /* all there are */

struct difference_side {
	const char *name; /* what the user called it */
	const struct profile *profile;
};

struct difference {
	struct difference_side a, b;
	struct compare rows;
	/* What makes the numbers doubtful, or is no difference of the program. */
	char doubt[DIFFERENCE_DOUBTS][256];
	unsigned doubts;
};

bool difference_make(struct difference *d, const struct difference_side *a,
		     const struct difference_side *b);
void difference_free(struct difference *d);

/* "Steps are 48.2 ms longer (+27 %; +3.2 to +32 % at 95 %): 178 ms, then 226 ms". */
void difference_sentence(const struct difference *d, char *to, size_t size);
/* "+3.2 to +32 %" around a shift, or "" where it is not known. */
void difference_interval(const struct shift *s, char *to, size_t size);
/* "+3.2 %", "-27 %": a part, with its sign. */
void difference_percent(double part, char *to, size_t size);
/* Tells the machine and the recordings apart, and how sure steps can be. */
void difference_doubts(struct difference *d);

#endif
