/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON pull parser over a buffer that slides along the stream. */
#include "report/parse.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The tokens that may come next. */
enum { VALUE, FIRST_VALUE, KEY, FIRST_KEY, MORE, NOTHING, BROKEN };

bool parse_start(struct parse *p, parse_source *source, void *arg)
{
	*p = (struct parse){ .source = source, .arg = arg, .size = 256u << 10 };
	p->buf = malloc(p->size);
	p->text = "";
	return p->buf != NULL;
}

void parse_stop(struct parse *p)
{
	free(p->buf);
	p->buf = NULL;
	p->expect = BROKEN;
}

static enum token give_up(struct parse *p, const char *why)
{
	if (!p->why) {
		p->why = why;
		p->offset = p->before + p->at;
	}
	p->expect = BROKEN;
	return TOKEN_ERROR;
}

/* Reads bytes behind those from `start` on. false: there are none (or it is broken). */
static bool read_more(struct parse *p)
{
	const char *why = "cannot be read";
	ssize_t n;

	if (p->ended || p->expect == BROKEN)
		return false;
	if (p->start) {
		memmove(p->buf, p->buf + p->start, p->end - p->start);
		p->before += p->start;
		p->at -= p->start;
		p->end -= p->start;
		p->start = 0;
	}
	/* One byte stays free for the NUL behind a token. */
	if (p->end + 1 == p->size) {
		char *grown =
			p->size < PARSE_TEXT_MOST ? realloc(p->buf, 2 * p->size) : NULL;

		if (!grown) {
			give_up(p, "a text is too long");
			return false;
		}
		p->buf = grown;
		p->size *= 2;
	}
	n = p->source(p->arg, p->buf + p->end, p->size - p->end - 1, &why);
	if (n < 0)
		give_up(p, why);
	p->ended = n <= 0;
	p->end += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* The next byte, which stays; -1 at the end. */
static inline int peek_byte(struct parse *p)
{
	if (p->at == p->end && !read_more(p))
		return -1;
	return (unsigned char)p->buf[p->at];
}

static int skip_blanks(struct parse *p)
{
	int c;

	do {
		p->start = p->at;
		c = peek_byte(p);
		if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
			return c;
		p->at++;
	} while (true);
}

/* ---- texts ---- */

static int take_hex4(struct parse *p)
{
	int value = 0;

	for (int i = 0; i < 4; i++, p->at++) {
		int c = peek_byte(p), digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			digit = (c | 32) - 'a' + 10;
		else
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* After "\u": the character; half of a pair alone gives U+FFFD. -1: no escape. */
static int take_code_point(struct parse *p)
{
	int high = take_hex4(p), low;

	if (high < 0xd800 || high > 0xdfff)
		return high;
	if (high > 0xdbff || peek_byte(p) != '\\')
		return 0xfffd;
	/* A second escape must follow; one that is no \u is left alone. */
	if (p->at + 1 == p->end)
		read_more(p);
	if (p->at + 1 >= p->end || p->buf[p->at + 1] != 'u')
		return 0xfffd;
	p->at += 2;
	low = take_hex4(p);
	if (low < 0)
		return -1;
	if (low < 0xdc00 || low > 0xdfff)
		return 0xfffd;
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* Takes an escape behind its backslash; its text goes to `to`. 0 = no such escape. */
static size_t take_escape(struct parse *p, char *to)
{
	static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
	int c = peek_byte(p), u;
	const char *found;

	p->at++;
	if (c == 'u') {
		u = take_code_point(p);
		return u < 0 ? 0 : utf8_put(to, (unsigned)u);
	}
	found = c > 0 ? strchr(from, c) : NULL;
	if (!found)
		return 0;
	*to = is[found - from];
	return 1;
}

/* Skips the bytes up to a quote or a backslash. */
static void skip_plain(struct parse *p)
{
	const char *at = p->buf + p->at, *end = p->buf + p->end;

	while (at < end && *at != '"' && *at != '\\')
		at++;
	p->at = (size_t)(at - p->buf);
}

/* Takes a text behind its opening quote; decoding in place only ever shrinks it. */
static bool take_text(struct parse *p)
{
	size_t len = 0, from;
	char decoded[4];

	p->start = ++p->at;
	for (;;) {
		size_t n, at = p->at;

		skip_plain(p);
		n = p->at - at;
		if (len + p->start != at)
			memmove(p->buf + p->start + len, p->buf + at, n);
		len += n;
		/* The decoded part stays; the bytes before it are not needed again. */
		if (p->at == p->end) {
			from = p->at - (p->start + len);
			if (from)
				p->before += from, p->at -= from, p->end -= from;
			if (!read_more(p))
				return false;
			continue;
		}
		if (p->buf[p->at++] == '"')
			break;
		n = take_escape(p, decoded);
		if (!n)
			return false;
		memcpy(p->buf + p->start + len, decoded, n);
		len += n;
	}
	p->text = p->buf + p->start;
	p->len = len;
	p->buf[p->start + len] = '\0';
	return true;
}

static enum token take_string(struct parse *p, enum token token)
{
	if (!take_text(p))
		return give_up(p, p->ended && p->at >= p->end ? "the file ends early"
							      : "a broken text");
	return token;
}

/* ---- numbers and words ---- */

static bool take_digits(struct parse *p)
{
	int c = peek_byte(p);

	if (c < '0' || c > '9')
		return false;
	do {
		p->at++;
		c = peek_byte(p);
	} while (c >= '0' && c <= '9');
	return true;
}

static enum token take_word(struct parse *p);

static enum token take_number(struct parse *p)
{
	int c = peek_byte(p);

	if (c == '-') {
		p->at++;
		c = peek_byte(p);
		if (c == 'I' || c == 'i')
			return take_word(p);
	}
	if (!take_digits(p))
		return give_up(p, "a broken number");
	if (peek_byte(p) == '.') {
		p->at++;
		if (!take_digits(p))
			return give_up(p, "a broken number");
	}
	c = peek_byte(p);
	if (c == 'e' || c == 'E') {
		p->at++;
		c = peek_byte(p);
		if (c == '+' || c == '-')
			p->at++;
		if (!take_digits(p))
			return give_up(p, "a broken number");
	}
	p->text = p->buf + p->start;
	p->len = p->at - p->start;
	return TOKEN_NUMBER;
}

static enum token take_word(struct parse *p)
{
	static const struct {
		const char *text;
		enum token token;
	} words[] = {
		{ "true", TOKEN_TRUE }, { "false", TOKEN_FALSE },
		{ "null", TOKEN_NULL }, { "NaN", TOKEN_NULL },
		{ "nan", TOKEN_NULL },  { "N/A", TOKEN_NULL },
		{ "inf", TOKEN_NULL },  { "Infinity", TOKEN_NULL },
		{ "-inf", TOKEN_NULL }, { "-Infinity", TOKEN_NULL },
	};
	int c;

	while (c = peek_byte(p),
	       p->at - p->start < 12 &&
		       (((c | 32) >= 'a' && (c | 32) <= 'z') || c == '/'))
		p->at++;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i].text) == p->at - p->start &&
		    !memcmp(words[i].text, p->buf + p->start, p->at - p->start))
			return words[i].token;
	return give_up(p,
		       p->ended && p->at == p->end ? "the file ends early" : "no JSON");
}

/* ---- structure ---- */

static bool in_object(const struct parse *p)
{
	unsigned d = p->depth - 1;

	return p->kind[d / 8] >> d % 8 & 1;
}

static enum token open_value(struct parse *p, bool object)
{
	unsigned d = p->depth;

	p->at++;
	if (d == PARSE_DEPTH_MOST)
		return give_up(p, "nested too deeply");
	p->kind[d / 8] =
		(uint8_t)((p->kind[d / 8] & ~(1u << d % 8)) | (unsigned)object << d % 8);
	p->depth++;
	p->expect = object ? FIRST_KEY : FIRST_VALUE;
	return object ? TOKEN_OBJECT : TOKEN_ARRAY;
}

static enum token close_value(struct parse *p)
{
	bool object = in_object(p);

	p->at++;
	p->expect = --p->depth ? MORE : NOTHING;
	return object ? TOKEN_OBJECT_END : TOKEN_ARRAY_END;
}

static enum token take_value(struct parse *p, int c)
{
	if (c == '{' || c == '[')
		return open_value(p, c == '{');
	p->expect = p->depth ? MORE : NOTHING;
	if (c == '"')
		return take_string(p, TOKEN_STRING);
	if (c == '-' || (c >= '0' && c <= '9'))
		return take_number(p);
	return c < 0 ? give_up(p, "the file ends early") : take_word(p);
}

static enum token take_key(struct parse *p)
{
	int c;

	if (take_string(p, TOKEN_KEY) == TOKEN_ERROR)
		return TOKEN_ERROR;
	while (c = peek_byte(p), c == ' ' || c == '\n' || c == '\r' || c == '\t')
		p->at++;
	if (c != ':')
		return give_up(p, c < 0 ? "the file ends early" : "no colon after a key");
	p->at++;
	/* The search for the colon may have moved the buffer's bytes. */
	p->text = p->buf + p->start;
	p->expect = VALUE;
	return TOKEN_KEY;
}

enum token parse_next(struct parse *p)
{
	int c;

	if (p->expect == BROKEN)
		return TOKEN_ERROR;
	c = skip_blanks(p);
	if (p->expect == NOTHING)
		return c < 0 && p->expect != BROKEN ? TOKEN_END
						    : give_up(p, "more after the end");
	if (p->expect == MORE && c == ',') {
		p->expect = in_object(p) ? KEY : VALUE;
		p->at++;
		c = skip_blanks(p);
	} else if (p->expect == MORE || p->expect == FIRST_KEY ||
		   p->expect == FIRST_VALUE) {
		if (p->depth && c == (in_object(p) ? '}' : ']'))
			return close_value(p);
		if (p->expect == MORE)
			return give_up(p, c < 0 ? "the file ends early" : "no comma");
	}
	if (p->expect == KEY || p->expect == FIRST_KEY)
		return c == '"' ? take_key(p)
				: give_up(p, c < 0 ? "the file ends early" : "no key");
	return take_value(p, c);
}

enum token parse_skip(struct parse *p, enum token token)
{
	unsigned depth;

	if (token == TOKEN_KEY)
		token = parse_next(p);
	if (token != TOKEN_OBJECT && token != TOKEN_ARRAY)
		return token;
	depth = p->depth;
	while (p->depth >= depth && token != TOKEN_ERROR)
		token = parse_next(p);
	return token;
}

bool parse_value(struct parse *p, enum token kind)
{
	enum token token = parse_next(p);

	if (token != kind)
		parse_skip(p, token);
	return token == kind;
}

bool parse_element(struct parse *p, enum token *token)
{
	*token = parse_next(p);
	return *token != TOKEN_ARRAY_END && *token != TOKEN_ERROR;
}
