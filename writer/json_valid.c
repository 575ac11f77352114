/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a text is JSON, without recursion. */
#include "writer/json.h"

#define DEPTH_MOST 32

/* The open brackets are a stack of fixed size: without recursion no spool can exhaust the
 * thread's stack. */
struct check {
	const char *at, *end;
	char open[DEPTH_MOST]; /* '{' or '[' */
	unsigned depth;
};

static void skip_blanks(struct check *c)
{
	while (c->at < c->end && memchr(" \t\r\n", *c->at, 4))
		c->at++;
}

/* Length of the escape at `at`, or 0. */
static size_t escape_length(const char *at, size_t len)
{
	if (len >= 2 && memchr("\"\\/bfnrt", at[1], 8))
		return 2;
	if (len < 6 || at[1] != 'u')
		return 0;
	for (int i = 2; i < 6; i++)
		if (!memchr("0123456789abcdefABCDEF", at[i], 22))
			return 0;
	return 6;
}

/* Whoever wrote the text has escaped it: it must be clean ASCII or UTF-8 as it is, and
 * end as json_put_escaped ends a string. */
static bool check_string(struct check *c)
{
	char clean[4 * 6];
	bool backslash = false;

	if (c->at >= c->end || *c->at++ != '"')
		return false;
	while (c->at < c->end && *c->at != '"') {
		unsigned char byte = (unsigned char)*c->at;
		size_t n = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;

		if (byte < 0x20 || byte == 0x7f || n > (size_t)(c->end - c->at))
			return false;
		if (n > 1 && (json_put_escaped(clean, c->at, n) != clean + n ||
			      memcmp(clean, c->at, n)))
			return false;
		if (byte == '\\')
			n = escape_length(c->at, (size_t)(c->end - c->at));
		if (!n)
			return false;
		backslash = byte == '\\' && c->at[1] == '\\';
		c->at += n;
	}
	return !backslash && c->at < c->end && *c->at++ == '"';
}

static bool check_digits(struct check *c)
{
	const char *from = c->at;

	while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
		c->at++;
	return c->at > from;
}

static bool check_number(struct check *c)
{
	if (*c->at == '-')
		c->at++;
	if (c->at + 1 < c->end && c->at[0] == '0' && c->at[1] >= '0' && c->at[1] <= '9')
		return false;
	if (!check_digits(c))
		return false;
	if (c->at < c->end && *c->at == '.') {
		c->at++;
		if (!check_digits(c))
			return false;
	}
	if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
		c->at++;
		if (c->at < c->end && (*c->at == '+' || *c->at == '-'))
			c->at++;
		return check_digits(c);
	}
	return true;
}

static bool check_word(struct check *c, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(c->end - c->at) < len || memcmp(c->at, text, len))
		return false;
	c->at += len;
	return true;
}

static bool check_key(struct check *c)
{
	skip_blanks(c);
	if (!check_string(c))
		return false;
	skip_blanks(c);
	return check_word(c, ":");
}

/* Behind a value: closes the brackets that end here. Returns false where the text is bad;
 * *more tells whether another value must follow. */
static bool close_brackets(struct check *c, bool *more)
{
	*more = false;
	while (c->depth) {
		char close = c->open[c->depth - 1] == '{' ? '}' : ']';

		skip_blanks(c);
		if (c->at >= c->end)
			return false;
		if (*c->at == ',') {
			c->at++;
			*more = true;
			return close == ']' || check_key(c);
		}
		if (*c->at++ != close)
			return false;
		c->depth--;
	}
	return true;
}

/* Opens the bracket at c->at. *value: a value must follow; else the brackets were
 * empty. */
static bool open_bracket(struct check *c, bool *value)
{
	char open = *c->at++, close = open == '{' ? '}' : ']';

	if (c->depth == DEPTH_MOST)
		return false;
	skip_blanks(c);
	*value = c->at < c->end && *c->at != close;
	if (!*value) {
		c->at++;
		return c->at <= c->end;
	}
	c->open[c->depth++] = open;
	return open == '[' || check_key(c);
}

bool json_valid(const char *text, size_t len)
{
	struct check c = { .at = text, .end = text + len };
	bool more = true;

	while (more) {
		bool ok = true, opened = false;

		skip_blanks(&c);
		if (c.at >= c.end)
			return false;
		if (*c.at == '{' || *c.at == '[')
			ok = open_bracket(&c, &opened);
		else if (*c.at == '"')
			ok = check_string(&c);
		else if (*c.at == 't' || *c.at == 'f' || *c.at == 'n')
			ok = check_word(&c, "true") || check_word(&c, "false") ||
			     check_word(&c, "null");
		else
			ok = check_number(&c);
		if (!ok || (!opened && !close_brackets(&c, &more)))
			return false;
	}
	skip_blanks(&c);
	return c.at == c.end;
}
