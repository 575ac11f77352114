/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_bytes - the parser's buffer: its next bytes, and how to go on behind an error.
 *
 * Who scans whole values, faster than token by token, looks at the bytes ahead and passes
 * what it has taken. Behind what is no JSON the parser goes on where the caller says.
 *
 * Threads  one at a time.
 * Memory   the parser's; PARSE_MARGIN bytes behind the last one can be read: quotes,
 *          where a search for the end of a text stops.
 * Errors   as the parser's.
 * Units    bytes.
 */
#ifndef REPORT_PARSE_BYTES_H
#define REPORT_PARSE_BYTES_H

#include "report/parse.h"

/* What may come next. */
enum parse_expect {
	EXPECT_VALUE,
	EXPECT_FIRST_VALUE,
	EXPECT_KEY,
	EXPECT_FIRST_KEY,
	EXPECT_MORE, /* a comma, or the end of the list or object */
	EXPECT_NOTHING,
	EXPECT_BROKEN,
};

/* Reads bytes behind those from `start` on. False: there are none (or it is broken). */
bool parse_bytes_more(struct parse *p);
/* Keeps the first reason and its place. */
enum token parse_bytes_give_up(struct parse *p, const char *why);

/* The next byte, which stays; -1 at the end. */
static inline int parse_bytes_peek(struct parse *p)
{
	if (p->at == p->end && !parse_bytes_more(p))
		return -1;
	return (unsigned char)p->buf[p->at];
}

/* The bytes that are there, and not taken yet. */
static inline const char *parse_bytes_ahead(const struct parse *p, size_t *n)
{
	*n = p->end - p->at;
	return p->buf + p->at;
}

/* Where the next byte lies in the stream. */
static inline uint64_t parse_bytes_offset(const struct parse *p)
{
	return p->before + p->at;
}

/* Reads more behind the bytes ahead, which may move. False: there are no more. */
bool parse_bytes_read_on(struct parse *p);
/* Passes n of the bytes ahead: in a list, up to the end of one of its values. */
void parse_bytes_pass(struct parse *p, size_t n);
/* Puts bytes in front of those ahead, which may move. False: no memory. */
bool parse_bytes_put_back(struct parse *p, const char *bytes, size_t n);
/* Goes on behind an error, n of the bytes ahead are passed: inside as many lists and
 * objects as `depth` says, which were open before. */
void parse_bytes_resume(struct parse *p, size_t n, unsigned depth,
			enum parse_expect expect);

#endif
