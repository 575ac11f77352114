/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_words - a command's text as the words that exec takes.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   false: there is no word, or it does not fit: half a command may mean anything.
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

/* Blanks part the words.  Where the text has a character that means something to a shell
 * it is "sh -c" of all of it, with the path quoted.  {} is the path, wherever it stands;
 * a text without it gets the path as its last word. */
bool command_words_make(struct command_words *w, const char *command, const char *path);

#endif
