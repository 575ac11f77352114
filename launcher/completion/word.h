/* SPDX-License-Identifier: Apache-2.0 */
/*
 * word - the options and verbs that a shell may complete, each with its values.
 *
 * Threads  one.
 * Memory   static; a word lives as long as the call that hands it out.
 * Errors   none.
 * Units    none.
 */
#ifndef COMPLETION_WORD_H
#define COMPLETION_WORD_H

#include <stdbool.h>

struct word {
	const char *verb; /* "" = of the command line itself */
	char name[64]; /* without dashes */
	const char *choices; /* "a|b|c" */
	const char *unit; /* "file", "directory", "command", other words; "" = none */
	bool alone; /* the value may be missing */
	const char *text;
};

typedef void word_put(const struct word *w);

void word_each(word_put *put); /* each option of each verb */
bool word_takes_value(const struct word *w);
/* These print. "a|b" with blanks between: */
void word_put_choices(const char *choices);
/* Within '...' of a shell; `quote` stands for the quote, and the characters of `before`
 * need a backslash. */
void word_put_text(const char *text, const char *quote, const char *before);
void word_put_verbs(void); /* blanks between */
void word_put_own(void); /* of these, those with options of their own alone */

#endif
