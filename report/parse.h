/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse - JSON, pulled token by token out of a stream.
 *
 * The parser is strict about the grammar, but lets through what real trace files have:
 * raw control characters in texts, and N/A, NaN and Infinity in place of a value (null).
 *
 * Threads  one at a time.
 * Memory   a buffer that holds the longest token, at most PARSE_TEXT_MOST; a token's
 *          text lies in it and is gone with the next call.
 * Errors   TOKEN_ERROR, from then on for ever; `why` and `offset` say what and where.
 * Units    bytes; number_us gives nanoseconds.
 */
#ifndef REPORT_PARSE_H
#define REPORT_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PARSE_TEXT_MOST  (16u << 20)
#define PARSE_DEPTH_MOST 512u
#define PARSE_MARGIN     64u
#define PARSE_AHEAD_MOST (1u << 20)
#define PARSE_CUT        "the file ends early" /* `why` where the stream just ends */

enum token {
	TOKEN_END,
	TOKEN_OBJECT,
	TOKEN_OBJECT_END,
	TOKEN_ARRAY,
	TOKEN_ARRAY_END,
	TOKEN_KEY,
	TOKEN_STRING,
	TOKEN_NUMBER,
	TOKEN_TRUE,
	TOKEN_FALSE,
	TOKEN_NULL,
	TOKEN_ERROR,
};

typedef ssize_t parse_source(void *arg, void *bytes, size_t size, const char **why);

struct parse {
	parse_source *source;
	void *arg;
	char *buf;
	size_t size, at, end, start; /* start: of the token being read */
	uint64_t before; /* bytes of the stream that have left the buffer */
	uint8_t kind[PARSE_DEPTH_MOST / 8]; /* a bit a level: 1 object, 0 array */
	unsigned depth, expect; /* expect: enum parse_expect */
	bool ended;
	const char
		*text; /* of a key or a string, NUL behind it; of a number: `len` bytes */
	size_t len;
	const char *why; /* NULL = no error */
	const char *source_why; /* the source's own error; NULL = none */
	uint64_t odd; /* words such as N/A, and control characters in texts */
	uint64_t offset; /* of the error */
};

/* false: not enough memory. */
bool parse_start(struct parse *p, parse_source *source, void *arg);
/* Begins another stream, with the buffer of the one before. */
void parse_again(struct parse *p, parse_source *source, void *arg);
void parse_stop(struct parse *p);

/* TOKEN_END comes behind the one value of the stream; anything behind that is an
 * error. */
enum token parse_next(struct parse *p);
/* Skips the rest of a value whose first token was `token`; after a key, give
 * TOKEN_KEY. */
enum token parse_skip(struct parse *p, enum token token);
/* Takes the next value, behind a key or not, if it is of that kind; else skips it. */
bool parse_value(struct parse *p, enum token kind);
/* Takes the first token of a list's next element; false: there are no more. */
bool parse_element(struct parse *p, enum token *token);

static inline bool parse_is(const struct parse *p, const char *text)
{
	size_t i = 0;

	for (; text[i]; i++)
		if (p->text[i] != text[i])
			return false;
	return i == p->len;
}

/* The last number's value, clamped to the type; 0 where the token is no number. */
int64_t number_i64(const struct parse *p);
uint64_t number_u64(const struct parse *p);
double number_double(const struct parse *p);
/* Microseconds with decimals, given as nanoseconds: exact to the third decimal. */
int64_t number_us(const struct parse *p);

#endif
