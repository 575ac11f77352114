/* SPDX-License-Identifier: Apache-2.0 */
/* The script of an interpreter: a trace of python3 says which program it is of. */
#include "agent/core/script.h"
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

/* What a word before the script is. Where one is not understood no word behind it can be
 * either: it may be a password. */
enum word_is { WORD_UNKNOWN, WORD_SWITCH, WORD_WITH_VALUE, WORD_MODULE };

/* *value: what stands in the word itself behind -m; "" = nothing. */
static enum word_is read_python_option(const char *word, const char **value)
{
	size_t plain = 1 + strspn(word + 1, "bBdEhiIOPqRsSuvx");

	if (!strcmp(word, "--check-hash-based-pycs"))
		return WORD_WITH_VALUE;
	if (*word != '-' || !word[1])
		return WORD_UNKNOWN;
	if (!word[plain])
		return WORD_SWITCH;
	*value = word + plain + 1;
	if (word[plain] == 'm')
		return WORD_MODULE;
	if (word[plain] != 'W' && word[plain] != 'X')
		return WORD_UNKNOWN; /* -c, and what we do not know */
	return **value ? WORD_SWITCH : WORD_WITH_VALUE;
}

static bool is_among(const char *word, const char *const *list)
{
	while (*list && strcmp(*list, word))
		list++;
	return *list;
}

static enum word_is read_shell_option(const char *word, bool bash)
{
	static const char *const switches[] = { "--",          "--login", "--norc",
						"--noprofile", "--posix", "--restricted",
						"--verbose",   NULL };
	static const char *const with_value[] = { "--rcfile", "--init-file", NULL };
	size_t plain = 1 + strspn(word + 1, "abefhiklmnpruvxBCEHPT");

	if (is_among(word, switches))
		return WORD_SWITCH;
	if (is_among(word, with_value))
		return WORD_WITH_VALUE;
	if (!word[1])
		return WORD_UNKNOWN;
	if (!word[plain])
		return WORD_SWITCH;
	/* -c, -s, -login, -oextendedglob */
	if (word[plain + 1] || (word[plain] != 'o' && !(bash && word[plain] == 'O')))
		return WORD_UNKNOWN;
	return WORD_WITH_VALUE;
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
	bool python = is_python(exe), bash = is_named(exe, "bash");

	for (int i = 1; i < argc && argv[i] && (python || is_shell(exe)); i++) {
		const char *word = argv[i], *value = "";
		enum word_is is;

		if (*word != '-' && *word != '+')
			return put_word(to, "\"", word);
		is = python ? read_python_option(word, &value)
			    : read_shell_option(word, bash);
		if (is == WORD_MODULE && !*value)
			value = i + 1 < argc && argv[i + 1] ? argv[i + 1] : "";
		if (is == WORD_MODULE)
			return *value && put_word(to, "\"-m ", value);
		if (is == WORD_UNKNOWN)
			return false;
		i += is == WORD_WITH_VALUE;
	}
	return false;
}

void script_look(const char *exe, int argc, char *const argv[])
{
	script_find(script, exe, argc, argv);
}

void script_fact(void)
{
	if (*script)
		spool_fact("script", script);
}
