/* SPDX-License-Identifier: Apache-2.0 */
/* The buffer slides along the stream; it grows only for a token that is longer. */
#include "report/parse_bytes.h"

#include <stdlib.h>
#include <string.h>

enum token parse_bytes_give_up(struct parse *p, const char *why)
{
	if (!p->why) {
		/* What is missing at the end, the source knows best. */
		p->why = p->source_why && p->at >= p->end ? p->source_why : why;
		p->offset = parse_bytes_offset(p);
	}
	p->expect = EXPECT_BROKEN;
	return TOKEN_ERROR;
}

/* After a failure the old buffer stays as it was; the margin is never counted as size. */
static bool grow_buffer(struct parse *p, size_t size)
{
	char *grown = realloc(p->buf, size + PARSE_MARGIN);

	if (!grown)
		return false;
	p->buf = grown;
	p->size = size;
	return true;
}

/* Moves what is still needed to the front. */
static void slide_buffer(struct parse *p)
{
	if (!p->start)
		return;
	memmove(p->buf, p->buf + p->start, p->end - p->start);
	p->before += p->start;
	p->at -= p->start;
	p->end -= p->start;
	p->start = 0;
}

bool parse_bytes_more(struct parse *p)
{
	const char *why = "cannot be read";
	ssize_t n;

	if (p->ended || p->expect == EXPECT_BROKEN)
		return false;
	slide_buffer(p);
	/* One byte stays free for the NUL behind a token. */
	if (p->end + 1 >= p->size &&
	    (p->size >= PARSE_TEXT_MOST || !grow_buffer(p, 2 * p->size))) {
		parse_bytes_give_up(p, "a text is too long");
		return false;
	}
	n = p->source(p->arg, p->buf + p->end, p->size - p->end - 1, &why);
	if (n < 0)
		p->source_why = why;
	p->ended = n <= 0;
	p->end += n > 0 ? (size_t)n : 0;
	memset(p->buf + p->end, '"', PARSE_MARGIN);
	if (n < 0)
		parse_bytes_give_up(p, why);
	return n > 0;
}

bool parse_bytes_read_on(struct parse *p)
{
	p->start = p->at;
	return p->end - p->at < PARSE_AHEAD_MOST && parse_bytes_more(p);
}

void parse_bytes_pass(struct parse *p, size_t n)
{
	p->at += n;
	p->start = p->at;
	p->expect = EXPECT_MORE;
}

bool parse_bytes_put_back(struct parse *p, const char *bytes, size_t n)
{
	size_t left = p->end - p->at;

	if (n + left + 1 > p->size && !grow_buffer(p, n + left + 1))
		return false;
	memmove(p->buf + n, p->buf + p->at, left);
	memcpy(p->buf, bytes, n);
	memset(p->buf + n + left, '"', PARSE_MARGIN);
	p->before = parse_bytes_offset(p) - n;
	p->at = p->start = 0;
	p->end = n + left;
	return true;
}

void parse_bytes_resume(struct parse *p, size_t n, unsigned depth,
			enum parse_expect expect)
{
	p->at += n;
	p->start = p->at;
	p->depth = depth;
	p->expect = expect;
	p->why = NULL;
}
