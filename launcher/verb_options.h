/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_options - the command line of a verb that has a table of options of its own.
 *
 * Threads  one.
 * Memory   none; words of argv are handed out as they are.
 * Errors   false after a line on stderr.
 * Units    none.
 */
#ifndef LAUNCHER_VERB_OPTIONS_H
#define LAUNCHER_VERB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct verb_option {
	const char *name, *value, *text; /* value "" = it takes none */
};

struct verb_options {
	const char *verb;
	const struct verb_option *rows; /* a row without a name ends them */
	/* Takes an option; value NULL = it has none. Returns NULL, or what is wrong. */
	const char *(*take)(void *arg, const char *name, const char *value);
	void *arg;
};

/* Takes the options, and moves the *n other words to the front of argv. -h is --help,
 * and -o is --output where there is such a row. */
bool verb_options_read(const struct verb_options *o, char **argv, unsigned *n);
/* A number from low to high, and all of the text. */
bool verb_options_number(const char *text, int64_t low, int64_t high, int64_t *to);
/* "3", or "3-5", from 0 on. */
bool verb_options_range(const char *text, int64_t *first, int64_t *last);
/* The place of a word in a list; -1 = it is none of them. */
int verb_options_word(const char *const *list, unsigned n, const char *word);
/* Ends a verb that printed: 0, or 2 where standard output did not take it. */
int verb_options_printed(void);
/* Prints the rows as --help has them. */
void verb_options_print(const struct verb_options *o);

#endif
