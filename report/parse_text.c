/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of JSON are decoded where they lie: that only ever shrinks them. */
#include "report/parse_text.h"
#include "base/utf8.h"
#include "report/parse_bytes.h"

#include <string.h>

/* A digit of any case is taken; -1 says that one of the four is none. */
static int take_hex4(struct parse *p)
{
	int value = 0;

	for (int i = 0; i < 4; i++, p->at++) {
		int c = parse_bytes_peek(p), digit;

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
	if (high > 0xdbff || parse_bytes_peek(p) != '\\')
		return 0xfffd;
	/* A second escape must follow; one that is no \u is left alone. */
	if (p->at + 1 == p->end)
		parse_bytes_more(p);
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
	int c = parse_bytes_peek(p), u;
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

/* Skips the bytes up to a quote or a backslash. Control characters, line ends for
 * instance, are no JSON, but some writers leave them. */
static void skip_plain(struct parse *p)
{
	const char *at = p->buf + p->at, *end = p->buf + p->end;

	for (; at < end && *at != '"' && *at != '\\'; at++)
		p->odd += (unsigned char)*at < 0x20;
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
			if (!parse_bytes_more(p))
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

enum token parse_text_take(struct parse *p, enum token token)
{
	if (!take_text(p))
		return parse_bytes_give_up(
			p, p->ended && p->at >= p->end ? PARSE_CUT : "a broken text");
	return token;
}
