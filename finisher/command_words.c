/* SPDX-License-Identifier: Apache-2.0 */
/* A command of plain words needs no shell: then a path cannot be taken for anything else,
 * and the status is the command's own. */
#include "finisher/command_words.h"
#include "writer/text.h"

#include <string.h>

/* In the first word "=" sets a variable of the shell; in later words it is plain text. */
bool command_needs_shell(const char *command)
{
	const char *first = command + strspn(command, COMMAND_BLANKS);

	for (const char *c = command; *c; c++) {
		if (c[0] == '{' && c[1] == '}')
			c++;
		else if (strchr("\"'\\`$&|;<>()*?[]{}#~!\n", *c) ||
			 (*c == '=' && c < first + strcspn(first, COMMAND_BLANKS)))
			return true;
	}
	return false;
}

static void put_quoted(struct text *t, const char *path)
{
	text_put(t, "'", 1);
	for (; *path; path++) {
		if (*path == '\'')
			text_put(t, "'\\''", 4);
		else
			text_put(t, path, 1);
	}
	text_put(t, "'", 1);
}

static void put_path(struct text *t, const char *path, bool quoted)
{
	if (quoted)
		put_quoted(t, path);
	else
		text_put(t, path, strlen(path));
}

/* Adds `len` bytes of the word; true where {} was among them. */
static bool put_word(struct text *t, const char *word, size_t len, const char *path,
		     bool quoted)
{
	bool named = false;

	for (size_t i = 0; i < len; i++) {
		if (i + 1 < len && word[i] == '{' && word[i + 1] == '}') {
			put_path(t, path, quoted);
			named = true;
			i++;
		} else {
			text_put(t, word + i, 1);
		}
	}
	return named;
}

static bool make_shell_words(struct command_words *w, const char *command,
			     const char *path)
{
	struct text t = { w->text, w->text + sizeof(w->text) };

	if (!put_word(&t, command, strlen(command), path, true)) {
		text_put(&t, " ", 1);
		put_quoted(&t, path);
	}
	text_put(&t, "", 1);
	w->argv[0] = (char *)"/bin/sh";
	w->argv[1] = (char *)"-c";
	w->argv[2] = w->text;
	w->argv[3] = NULL;
	return t.at < t.end;
}

bool command_words_make(struct command_words *w, const char *command, const char *path)
{
	struct text t = { w->text, w->text + sizeof(w->text) };
	bool named = false;
	unsigned n = 0;

	if (command_needs_shell(command))
		return make_shell_words(w, command, path);
	while (*(command += strspn(command, COMMAND_BLANKS))) {
		size_t len = strcspn(command, COMMAND_BLANKS);

		if (n == COMMAND_WORDS - 1)
			return false;
		w->argv[n++] = t.at;
		named |= put_word(&t, command, len, path, false);
		text_put(&t, "", 1);
		command += len;
	}
	if (!n)
		return false; /* the path alone would be run */
	if (!named) {
		w->argv[n++] = t.at;
		text_put(&t, path, strlen(path) + 1);
	}
	w->argv[n] = NULL;
	return t.at < t.end;
}
