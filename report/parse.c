/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON pull parser over a buffer that slides along the stream. */
#include "report/parse.h"
#include "report/parse_bytes.h"
#include "report/parse_text.h"

#include <stdlib.h>
#include <string.h>

bool parse_start(struct parse *p, parse_source *source, void *arg)
{
	*p = (struct parse){ .source = source, .arg = arg, .size = 256u << 10 };
	p->buf = malloc(p->size + PARSE_MARGIN);
	p->text = "";
	return p->buf != NULL;
}

void parse_again(struct parse *p, parse_source *source, void *arg)
{
	*p = (struct parse){
		.source = source, .arg = arg, .buf = p->buf, .size = p->size, .text = ""
	};
}

void parse_stop(struct parse *p)
{
	free(p->buf);
	p->buf = NULL;
	p->expect = EXPECT_BROKEN;
}

static int skip_blanks(struct parse *p)
{
	int c;

	do {
		p->start = p->at;
		c = parse_bytes_peek(p);
		if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
			return c;
		p->at++;
	} while (true);
}

/* ---- numbers and words ---- */

static bool take_digits(struct parse *p)
{
	int c = parse_bytes_peek(p);

	if (c < '0' || c > '9')
		return false;
	do {
		p->at++;
		c = parse_bytes_peek(p);
	} while (c >= '0' && c <= '9');
	return true;
}

static enum token take_word(struct parse *p);

static enum token take_number(struct parse *p)
{
	int c = parse_bytes_peek(p);

	if (c == '-') {
		p->at++;
		c = parse_bytes_peek(p);
		if (c == 'I' || c == 'i')
			return take_word(p);
	}
	if (!take_digits(p))
		return parse_bytes_give_up(p, "a broken number");
	if (parse_bytes_peek(p) == '.') {
		p->at++;
		if (!take_digits(p))
			return parse_bytes_give_up(p, "a broken number");
	}
	c = parse_bytes_peek(p);
	if (c == 'e' || c == 'E') {
		p->at++;
		c = parse_bytes_peek(p);
		if (c == '+' || c == '-')
			p->at++;
		if (!take_digits(p))
			return parse_bytes_give_up(p, "a broken number");
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

	while (c = parse_bytes_peek(p),
	       p->at - p->start < 12 &&
		       (((c | 32) >= 'a' && (c | 32) <= 'z') || c == '/'))
		p->at++;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i].text) == p->at - p->start &&
		    !memcmp(words[i].text, p->buf + p->start, p->at - p->start))
			return p->odd += i >= 3, words[i].token;
	return parse_bytes_give_up(p,
				   p->ended && p->at == p->end ? PARSE_CUT : "no JSON");
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
		return parse_bytes_give_up(p, "nested too deeply");
	p->kind[d / 8] =
		(uint8_t)((p->kind[d / 8] & ~(1u << d % 8)) | (unsigned)object << d % 8);
	p->depth++;
	p->expect = object ? EXPECT_FIRST_KEY : EXPECT_FIRST_VALUE;
	return object ? TOKEN_OBJECT : TOKEN_ARRAY;
}

static enum token close_value(struct parse *p)
{
	bool object = in_object(p);

	p->at++;
	p->expect = --p->depth ? EXPECT_MORE : EXPECT_NOTHING;
	return object ? TOKEN_OBJECT_END : TOKEN_ARRAY_END;
}

static enum token take_value(struct parse *p, int c)
{
	if (c == '{' || c == '[')
		return open_value(p, c == '{');
	p->expect = p->depth ? EXPECT_MORE : EXPECT_NOTHING;
	if (c == '"')
		return parse_text_take(p, TOKEN_STRING);
	if (c == '-' || (c >= '0' && c <= '9'))
		return take_number(p);
	return c < 0 ? parse_bytes_give_up(p, PARSE_CUT) : take_word(p);
}

static enum token take_key(struct parse *p)
{
	int c;

	if (parse_text_take(p, TOKEN_KEY) == TOKEN_ERROR)
		return TOKEN_ERROR;
	while (c = parse_bytes_peek(p), c == ' ' || c == '\n' || c == '\r' || c == '\t')
		p->at++;
	if (c != ':')
		return parse_bytes_give_up(p, c < 0 ? PARSE_CUT : "no colon after a key");
	p->at++;
	/* The search for the colon may have moved the buffer's bytes. */
	p->text = p->buf + p->start;
	p->expect = EXPECT_VALUE;
	return TOKEN_KEY;
}

enum token parse_next(struct parse *p)
{
	int c;

	if (p->expect == EXPECT_BROKEN)
		return TOKEN_ERROR;
	c = skip_blanks(p);
	if (p->expect == EXPECT_NOTHING)
		return c < 0 && p->expect != EXPECT_BROKEN
			       ? TOKEN_END
			       : parse_bytes_give_up(p, "more after the end");
	if (p->expect == EXPECT_MORE && c == ',') {
		p->expect = in_object(p) ? EXPECT_KEY : EXPECT_VALUE;
		p->at++;
		c = skip_blanks(p);
	} else if (p->expect == EXPECT_MORE || p->expect == EXPECT_FIRST_KEY ||
		   p->expect == EXPECT_FIRST_VALUE) {
		if (p->depth && c == (in_object(p) ? '}' : ']'))
			return close_value(p);
		if (p->expect == EXPECT_MORE)
			return parse_bytes_give_up(p, c < 0 ? PARSE_CUT : "no comma");
	}
	if (p->expect == EXPECT_KEY || p->expect == EXPECT_FIRST_KEY)
		return c == '"' ? take_key(p)
				: parse_bytes_give_up(p, c < 0 ? PARSE_CUT : "no key");
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
