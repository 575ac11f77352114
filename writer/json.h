/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json - text of a trace, put together in a buffer and passed on when it is full.
 *
 * Threads  one at a time.
 * Memory   the caller's buffer.
 * Errors   the first error of flush() stays in `err`; later text goes nowhere.
 * Units    bytes; times in ns, printed as microseconds with three decimals.
 */
#ifndef WRITER_JSON_H
#define WRITER_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define JSON_ROOM 1024 /* what one call of json_need gives at most */

struct json {
	char *start, *at, *limit; /* limit leaves JSON_ROOM bytes behind it */
	int (*flush)(void *arg, const char *text, size_t len);
	void *arg;
	int err;
};

/* `size` must be larger than JSON_ROOM. */
void json_init(struct json *j, char *buf, size_t size,
	       int (*flush)(void *arg, const char *text, size_t len), void *arg);
/* Passes the buffered text on, if there is any; after an error drops it. */
void json_flush(struct json *j);

/* Afterwards JSON_ROOM bytes at j->at are free. */
static inline void json_need(struct json *j)
{
	if (__builtin_expect(j->at >= j->limit, 0))
		json_flush(j);
}

/* As json_raw, for a text that is longer than JSON_ROOM. */
void json_long(struct json *j, const char *text, size_t len);
static inline void json_raw(struct json *j, const char *text, size_t len)
{
	if (__builtin_expect(len > JSON_ROOM, 0)) {
		json_long(j, text, len);
		return;
	}
	json_need(j);
	memcpy(j->at, text, len);
	j->at += len;
}
/* A string constant: its length is known to the compiler. */
#define json_lit(j, text) json_raw((j), "" text, sizeof(text) - 1)
/* Appends text as it stands, up to its NUL. */
void json_text(struct json *j, const char *text);
/* Appends text as the whole inside of a JSON string, or its end: escaped; bytes that are
 * not UTF-8 become U+FFFD, a backslash at the end \u005c. */
void json_escaped(struct json *j, const char *text, size_t len);
/* As json_escaped, with the quotes around it. */
void json_string(struct json *j, const char *text, size_t len);
void json_number(struct json *j, int64_t n);
void json_unsigned(struct json *j, uint64_t n);
/* Appends text as it stands, most often a key, and a number behind it. */
void json_text_number(struct json *j, const char *text, int64_t n);
void json_text_unsigned(struct json *j, const char *text, uint64_t n);
/* Appends a member and its comma: "key":n, */
void json_member(struct json *j, const char *key, uint64_t n);

/* ---- into any memory; each function returns the place behind what it wrote ---- */

#define JSON_DIGITS 24 /* what json_put_* of a number takes at most */

char *json_put_unsigned(char *to, uint64_t n);
char *json_put_number(char *to, int64_t n);
/* Nanoseconds as microseconds with three decimals, as Kineto writes "ts" and "dur". */
char *json_put_us(char *to, uint64_t ns);
/* Writes what %.17g gives, with "." as the decimal point in every locale. */
char *json_put_double(char *to, double d);
/* As json_escaped; writes at most 6 bytes for each byte of `text`. */
char *json_put_escaped(char *to, const char *text, size_t len);

/* Is the text one well-formed JSON value with nothing behind it, and ends no string in it
 * in an escaped backslash? */
bool json_valid(const char *text, size_t len);

#endif
