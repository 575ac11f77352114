/* SPDX-License-Identifier: Apache-2.0 */
/* The begin of a trace file is searched while the file is being unpacked, so its text may
 * end anywhere. Nothing is copied and no tree is made: a value is skipped by counting its
 * brackets. Text that is no JSON ends the search, as text that is cut off does. */
#include "launcher/recover/span.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && memchr(" \t\r\n", *at, 4))
		at++;
	return at;
}

/* Skips a string; returns the place behind its closing quote; NULL: it is cut off. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : NULL;
}

static const char *skip_value(const char *at, const char *end)
{
	size_t depth = 0;

	do {
		at = skip_blanks(at, end);
		if (at >= end)
			return NULL;
		if (*at == '"') {
			at = skip_string(at, end);
			if (!at)
				return NULL;
		} else if (*at == '{' || *at == '[') {
			depth++;
			at++;
		} else if (*at == '}' || *at == ']') {
			if (!depth)
				return NULL;
			depth--;
			at++;
		} else if (depth && (*at == ',' || *at == ':')) {
			at++;
		} else {
			const char *from = at;

			while (at < end && !memchr(" \t\r\n,:\"[]{}", *at, 11))
				at++;
			if (at == from)
				return NULL;
		}
	} while (depth);
	return at;
}

bool span_open(struct span text, char bracket, struct span *inside)
{
	const char *at = skip_blanks(text.at, text.end);

	if (at >= text.end || *at != bracket)
		return false;
	*inside = (struct span){ at + 1, text.end };
	return true;
}

/* Skips the comma behind a value, if there is one. */
static const char *skip_comma(const char *at, const char *end)
{
	at = skip_blanks(at, end);
	return at < end && *at == ',' ? at + 1 : at;
}

bool span_item(struct span *inside, struct span *item)
{
	const char *at = skip_blanks(inside->at, inside->end), *end;

	if (at >= inside->end || *at == ']')
		return false;
	end = skip_value(at, inside->end);
	if (!end)
		return false;
	*item = (struct span){ at, end };
	inside->at = skip_comma(end, inside->end);
	return true;
}

bool span_member(struct span *inside, struct span_member *m)
{
	const char *at = skip_blanks(inside->at, inside->end), *end;

	if (at >= inside->end || *at != '"')
		return false;
	end = skip_string(at, inside->end);
	if (!end)
		return false;
	m->key = (struct span){ at, end };
	at = skip_blanks(end, inside->end);
	if (at >= inside->end || *at != ':')
		return false;
	at = skip_blanks(at + 1, inside->end);
	end = skip_value(at, inside->end);
	m->cut = !end;
	m->value = (struct span){ at, end ? end : inside->end };
	inside->at = end ? skip_comma(end, inside->end) : inside->end;
	return true;
}

bool span_is(struct span s, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s.end - s.at) == len && !memcmp(s.at, text, len);
}

/* Reads at most nineteen digits, so that the number does not wrap; a fraction or a minus
 * makes it no number here. */
bool span_number(struct span s, uint64_t *n)
{
	*n = 0;
	if (s.at >= s.end || s.end - s.at > 19)
		return false;
	for (; s.at < s.end; s.at++) {
		if (*s.at < '0' || *s.at > '9')
			return false;
		*n = *n * 10 + (uint64_t)(*s.at - '0');
	}
	return true;
}

/* ---- strings ---- */

static bool read_hex4(const char *at, const char *end, unsigned *code)
{
	*code = 0;
	if (end - at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef",
			   *d = memchr(digits, at[i] | 32, 16);

		if (!d)
			return false;
		*code = *code << 4 | (unsigned)(d - digits);
	}
	return true;
}

/* No escape makes a string longer: \u0041 is six bytes and becomes three at most. */
char *span_string(struct span s)
{
	size_t len = (size_t)(s.end - s.at);
	char *text, *to;

	if (len < 2 || *s.at != '"' || s.end[-1] != '"')
		return NULL;
	text = to = malloc(len);
	s.end--;
	for (const char *at = s.at + 1; text && at < s.end; at++) {
		const char *plain = "\"\\/bfnrt", *means = "\"\\/\b\f\n\r\t", *which;
		unsigned code;

		if (*at != '\\') {
			*to++ = *at;
			continue;
		}
		at++;
		which = at < s.end ? memchr(plain, *at, 8) : NULL;
		if (which) {
			*to++ = means[which - plain];
		} else if (at < s.end && *at == 'u' && read_hex4(at + 1, s.end, &code)) {
			to += utf8_put(to, code);
			at += 4;
		}
	}
	if (text)
		*to = '\0';
	return text;
}
