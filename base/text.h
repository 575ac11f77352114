/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text - small questions about text, whatever the locale.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none.
 * Units    none.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* In some locales tolower('I') is no ASCII letter. */
static inline char text_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static inline bool text_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Where the text begins without blanks around it; `len` becomes what is left. */
static inline const char *text_trim(const char *s, size_t *len)
{
	for (; *len && text_is_blank(*s); --*len)
		s++;
	while (*len && text_is_blank(s[*len - 1]))
		--*len;
	return s;
}

/* Does a name end with `suffix`, with something before it? */
static inline bool text_ends(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

/* What stands behind a beginning; NULL: it begins otherwise. */
static inline const char *text_after(const char *text, const char *begin)
{
	size_t n = strlen(begin);

	return strncmp(text, begin, n) ? NULL : text + n;
}

/* Is it one of a list that ends with NULL? */
static inline bool text_is_in(const char *word, const char *const *list)
{
	while (*list && strcmp(word, *list))
		list++;
	return *list;
}

/* The digits at the beginning; too many of them are a very large number. */
static inline uint64_t text_number(const char *text)
{
	uint64_t n = 0;

	for (; *text >= '0' && *text <= '9' && n < UINT64_MAX / 16; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	return n;
}

/* What stands behind a path's last slash. */
static inline const char *text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
