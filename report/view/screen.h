/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen - what the place can show that a report is written to, and texts that fit it.
 *
 * A text that is too long loses its middle. What a terminal would obey becomes '?', and
 * so does what is no ASCII where the locale is not UTF-8. A character is a column.
 *
 * Threads  one at a time.
 * Memory   none.
 * Errors   none: those of the stream are the caller's to ask for.
 * Units    columns.
 */
#ifndef REPORT_VIEW_SCREEN_H
#define REPORT_VIEW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SCREEN_LEAST 80u
#define SCREEN_MOST  200u

struct screen {
	FILE *out;
	unsigned width;
	bool colour, utf8;
};

enum screen_look { SCREEN_PLAIN, SCREEN_BOLD, SCREEN_DIM, SCREEN_WARN };

/* `terminal`: its descriptor; -1 = the output is none. COLUMNS, NO_COLOR, TERM and the
 * locale are read from the environment. */
void screen_begin(struct screen *s, FILE *out, int terminal);

void screen_look(const struct screen *s, enum screen_look look);
/* How many columns a text takes, uncut. */
size_t screen_columns(const struct screen *s, const char *text);
/* Writes at most `most` columns. Returns how many. */
size_t screen_text(const struct screen *s, const char *text, size_t most);
/* The same, with blanks behind or before it. */
void screen_left(const struct screen *s, const char *text, size_t width);
void screen_right(const struct screen *s, const char *text, size_t width);
/* Writes words in lines, the first from column `at` on, the others from `indent`; ends
 * the last line. The look ends with each line, as pagers want it. */
void screen_wrap(const struct screen *s, enum screen_look look, const char *text,
		 size_t at, size_t indent);
/* The same of a text that is made like printf's, plain, from `indent` on. */
void screen_say(const struct screen *s, size_t indent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes a bar of share * width columns, to the half column. */
void screen_bar(const struct screen *s, double share, size_t width);

#endif
