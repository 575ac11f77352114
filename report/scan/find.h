/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find - where texts and nested values of JSON end, many bytes at a time.
 *
 * There is a set of functions for each kind of instructions; all give the same. Texts are
 * searched past their end, to where the caller has put a quote.
 *
 * Threads  any.
 * Memory   none; FIND_MARGIN bytes behind `end`, or behind that quote, can be read.
 * Errors   NULL, or `at`, as said below.
 * Units    bytes.
 */
#ifndef REPORT_SCAN_FIND_H
#define REPORT_SCAN_FIND_H

#define FIND_MARGIN  63u
#define FIND_DEEPEST 256

struct find_set {
	const char *name;
	/* The first quote, backslash or control character. */
	const char *(*text_end)(const char *at);
	/* Behind the bracket that closes the one at `at`; NULL: it is not before `end`;
	 * `at`: a text ends where none can, as an odd quote makes it, or there are more
	 * than FIND_DEEPEST in each other. */
	const char *(*nest_end)(const char *at, const char *end);
};

/* The best that this processor has. */
const struct find_set *find_best(void);
/* The n-th of those that this processor has, the plainest first; NULL: it has fewer. */
const struct find_set *find_nth(unsigned n);

#endif
