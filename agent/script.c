/* SPDX-License-Identifier: Apache-2.0 */
/* The script of an interpreter: a trace of python3 says which program it is of. */
#include "agent/script.h"
#include "agent/core/spool.h"
#include "base/seldom.h"

#include <string.h>

static SELDOM char script[SCRIPT_MOST];

/* An interpreter's name may end in its version: python3.11. */
static bool is_named(const char *exe, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(exe, name, len) && !exe[len + strspn(exe + len, "0123456789.")];
}

static bool is_python(const char *exe)
{
	return is_named(exe, "python") || is_named(exe, "pypy");
}

static bool is_shell(const char *exe)
{
	return is_named(exe, "sh") || is_named(exe, "bash") || is_named(exe, "dash") ||
	       is_named(exe, "zsh");
}

/* Of an option of one dash, the letter that is more than a switch; NULL = none. */
static const char *special_letter(const char *word, bool python)
{
	if (word[1] == '-')
		return NULL;
	if (!python && strchr(word, 'c'))
		return "c";
	return strpbrk(word, python ? "cmWX" : "oO");
}

/* Is the next word the option's value? */
static bool takes_word(const char *word, const char *letter, bool python)
{
	return letter ? !python || !letter[1]
		      : !strcmp(word, "--check-hash-based-pycs") ||
				!strcmp(word, "--rcfile") || !strcmp(word, "--init-file");
}

/* Writes JSON's text, of a long word its end. What JSON would have to escape is a
 * question mark. */
static bool put_word(char *to, const char *before, const char *word)
{
	size_t at = strlen(before), len = strlen(word), room = SCRIPT_MOST - 2 - at;

	strcpy(to, before);
	if (len > room)
		word += len - room;
	while ((*word & 0xc0) == 0x80) /* not from the middle of a letter */
		word++;
	for (; *word; word++)
		to[at++] = (unsigned char)*word < ' ' || *word == '"' || *word == '\\' ||
					   *word == 0x7f
				   ? '?'
				   : *word;
	strcpy(to + at, "\"");
	return true;
}

bool script_find(char to[SCRIPT_MOST], const char *exe, int argc, char *const argv[])
{
	bool python = is_python(exe);

	for (int i = 1; i < argc && argv[i] && (python || is_shell(exe)); i++) {
		const char *word = argv[i], *letter;

		if (*word != '-' && *word != '+')
			return put_word(to, "\"", word);
		letter = special_letter(word, python);
		/* The text of a program, or standard input: it may hold anything. */
		if (!word[1] || (letter && *letter == 'c'))
			return false;
		if (letter && *letter == 'm' && letter[1])
			return put_word(to, "\"-m ", letter + 1);
		if (letter && *letter == 'm')
			return i + 1 < argc && argv[i + 1] &&
			       put_word(to, "\"-m ", argv[i + 1]);
		i += takes_word(word, letter, python);
	}
	return false;
}

void script_look(const char *exe, int argc, char *const argv[])
{
	if (!script_find(script, exe, argc, argv))
		*script = '\0';
}

void script_fact(void)
{
	if (*script)
		spool_fact("script", script);
}
