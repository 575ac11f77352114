/* SPDX-License-Identifier: Apache-2.0 */
/* Copies an event byte by byte; quotes and backslashes are judged by what is around
 * them. */
#include "report/mend.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define DEEPEST  64u
#define KEY_MOST 256u /* a key that is longer is none */

struct mending {
	const char *at, *end;
	struct mended *to;
	uint64_t objects; /* a bit for each level: 1 object, 0 list */
	unsigned depth;
	bool value; /* behind a colon, or in a list: a value comes, no key */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && is_blank(*at))
		at++;
	return at;
}

static bool is_byte(const char *at, const char *end, char c)
{
	return at < end && *at == c;
}

/* Is there a key, with its colon? `at` is at its opening quote. */
static bool is_key(const char *at, const char *end, const char **name, size_t *len)
{
	const char *from = at + 1, *stop = end - from > KEY_MOST ? from + KEY_MOST : end;

	if (!is_byte(at, end, '"'))
		return false;
	for (at = from; at < stop && *at != '"' && *at != '\\' && *at != '\n'; at++)
		;
	if (!is_byte(at, stop, '"') || !is_byte(skip_blanks(at + 1, end), end, ':'))
		return false;
	*name = from;
	*len = (size_t)(at - from);
	return true;
}

/* ---- texts ---- */

static bool in_object(const struct mending *m)
{
	return m->objects >> (m->depth - 1) & 1;
}

/* Can the text end before `at`, which is behind a quote? */
static bool may_end(const struct mending *m, const char *at)
{
	const char *name;
	size_t len;

	at = skip_blanks(at, m->end);
	if (at == m->end)
		return false;
	if (!m->value)
		return *at == ':';
	if (!in_object(m))
		return *at == ',' || *at == ']';
	if (*at == ',')
		return is_key(skip_blanks(at + 1, m->end), m->end, &name, &len);
	if (*at != '}')
		return false;
	at = skip_blanks(at + 1, m->end);
	return at == m->end || *at == ',' || *at == '}' || *at == ']';
}

static void put_byte(struct mending *m, char c)
{
	m->to->text[m->to->len++] = c;
}

static bool is_hex(const char *at)
{
	for (int i = 0; i < 4; i++)
		if (!memchr("0123456789abcdefABCDEF", at[i], 22))
			return false;
	return true;
}

/* Copies a backslash and what belongs to it. One that escapes nothing is meant as it
 * stands, such as those of Windows' paths. True: the text ends with it. */
static bool copy_backslash(struct mending *m)
{
	char c = m->end - m->at > 1 ? m->at[1] : '\0';
	bool ends = c == '"' && may_end(m, m->at + 2);
	bool escape = c && strchr("\"\\/bfnrt", c) && !ends;

	if (c == 'u')
		escape = m->end - m->at > 5 && is_hex(m->at + 2);
	put_byte(m, '\\');
	put_byte(m, escape ? c : '\\');
	m->at += escape || ends ? 2 : 1;
	if (ends)
		put_byte(m, '"');
	return ends;
}

/* Does an event begin here? No name has that, so a text that comes so far has no end. */
static bool is_next_event(const char *at, const char *end)
{
	const char *name;
	size_t len;

	return *at == '{' && is_key(skip_blanks(at + 1, end), end, &name, &len) &&
	       len == 2 && !memcmp(name, "ph", 2);
}

/* Copies a text. False: it has no end. */
static bool copy_text(struct mending *m)
{
	put_byte(m, *m->at++);
	while (m->at < m->end) {
		char c = *m->at;

		if (c == '\\') {
			if (copy_backslash(m))
				return true;
			continue;
		}
		if (is_next_event(m->at, m->end))
			return false;
		m->at++;
		if (c == '"' && may_end(m, m->at)) {
			put_byte(m, c);
			return true;
		}
		if (c == '"')
			put_byte(m, '\\');
		put_byte(m, c);
	}
	return false;
}

/* ---- other values ---- */

static const char *skip_digits(const char *at, const char *end)
{
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at;
}

static bool is_number(const char *at, const char *end)
{
	const char *from = at += is_byte(at, end, '-');

	at = skip_digits(at, end);
	if (at == from)
		return false;
	if (is_byte(at, end, '.')) {
		from = ++at;
		at = skip_digits(at, end);
		if (at == from)
			return false;
	}
	if (at < end && (*at | 32) == 'e') {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		from = at;
		at = skip_digits(at, end);
		if (at == from)
			return false;
	}
	return at == end;
}

static bool is_word(const char *at, size_t n)
{
	static const char *const words[] = { "true", "false" };

	for (unsigned i = 0; i < 2; i++)
		if (n == strlen(words[i]) && !memcmp(at, words[i], n))
			return true;
	return false;
}

/* Copies a number or a word; whatever else it is becomes null. */
static void copy_bare(struct mending *m)
{
	const char *from = m->at, *at = from;

	while (at < m->end && *at != ',' && *at != '}' && *at != ']' && *at != '"' &&
	       !is_blank(*at))
		at++;
	m->at = at;
	if (!is_number(from, at) && !is_word(from, (size_t)(at - from))) {
		from = "null";
		at = from + 4;
	}
	while (from < at)
		put_byte(m, *from++);
}

/* ---- structure ---- */

static bool open_level(struct mending *m, bool object)
{
	if (m->depth == DEEPEST)
		return false;
	m->objects = (m->objects & ~(UINT64_C(1) << m->depth)) | (uint64_t)object
									 << m->depth;
	m->depth++;
	m->value = !object;
	put_byte(m, *m->at++);
	return true;
}

static void close_level(struct mending *m)
{
	if (in_object(m) && m->value) /* "key": } */
		memcpy(m->to->text + m->to->len, "null", 4), m->to->len += 4;
	put_byte(m, in_object(m) ? '}' : ']');
	m->at++;
	m->depth--;
	m->value = false;
}

/* Copies what comes next. False: nobody can tell what it is. */
static bool copy_next(struct mending *m)
{
	char c = *m->at;
	bool object = in_object(m);

	if (is_blank(c)) {
		m->at++;
	} else if (c == '}' || c == ']') {
		if ((c == '}') != object)
			return false;
		close_level(m);
	} else if (c == ',' || c == ':') {
		if (c == ',' && object && m->value) /* "key": , */
			memcpy(m->to->text + m->to->len, "null", 4), m->to->len += 4;
		m->value = c == ':' || !object;
		put_byte(m, c);
		m->at++;
	} else if (c == '{' || c == '[') {
		return m->value && open_level(m, c == '{');
	} else if (c == '"') {
		if (!copy_text(m))
			return false;
		m->value &= !object;
	} else {
		if (!m->value)
			return false;
		copy_bare(m);
		m->value = !object;
	}
	return true;
}

size_t mend_event(struct mended *to, const char *text, size_t n)
{
	struct mending m = { .at = text,
			     .end = text + (n < MEND_MOST ? n : MEND_MOST),
			     .to = to };

	to->len = 0;
	if (!n || *text != '{')
		return 0;
	open_level(&m, true);
	while (m.depth && m.at < m.end)
		if (!copy_next(&m))
			return 0;
	return m.depth ? 0 : (size_t)(m.at - text);
}

/* ---- the next event ---- */

static bool is_event_key(const char *name, size_t len)
{
	static const char *const keys[] = { "ph", "name", "cat",  "pid", "tid",
					    "ts", "dur",  "args", "id",  "s" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (len == strlen(keys[i]) && !memcmp(name, keys[i], len))
			return true;
	return false;
}

/* Is the object another's member, such as "args": {"name": ...}? */
static bool is_member(const char *text, const char *at)
{
	while (at > text && is_blank(at[-1]))
		at--;
	return at > text && at[-1] == ':';
}

size_t mend_find_event(const char *text, size_t n)
{
	const char *end = text + n, *at = text, *name;
	size_t len;

	for (; (at = memchr(at, '{', (size_t)(end - at))); at++)
		if (is_key(skip_blanks(at + 1, end), end, &name, &len) &&
		    is_event_key(name, len) && !is_member(text, at))
			return (size_t)(at - text);
	return SIZE_MAX;
}
