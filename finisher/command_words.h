/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_words - a command's text as the words that exec takes.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   false: there is no word, or the words do not fit: half a command may mean
 *          anything.
 * Units    bytes.
 */
#ifndef FINISHER_COMMAND_WORDS_H
#define FINISHER_COMMAND_WORDS_H

#include <stdbool.h>

#define COMMAND_TEXT  16384
#define COMMAND_WORDS 256

struct command_words {
	char *argv[COMMAND_WORDS + 1];
	char text[COMMAND_TEXT];
};

#define COMMAND_BLANKS " \t"

/* Has it a character that means something to a shell? */
bool command_needs_shell(const char *command);

/* Blanks part the words.  A text with a character that means something to a shell becomes
 * "sh -c" and the whole text, with the path quoted.  {} stands for the path, wherever it
 * is; a text without {} gets the path as its last word. */
bool command_words_make(struct command_words *w, const char *command, const char *path);

#endif
