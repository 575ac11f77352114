/* SPDX-License-Identifier: Apache-2.0 */
/* Plain text is copied in stretches: nearly all of a trace is that. */
#include "report/export/json_piece.h"
#include "base/utf8.h"
#include "report/out.h"

#include <stdlib.h>
#include <string.h>

void json_piece_free(struct json_piece *t)
{
	free(t->bytes);
	*t = (struct json_piece){ 0 };
}

/* A hostile trace has values without end: a piece has one. */
static bool make_room(struct json_piece *t, size_t n)
{
	size_t room = t->room ? t->room : 4096;
	char *grown;

	if (t->full || n > JSON_PIECE_MOST || t->n + n > JSON_PIECE_MOST) {
		t->full = true;
		return false;
	}
	if (t->n + n <= t->room)
		return true;
	while (room < t->n + n)
		room *= 2;
	grown = realloc(t->bytes, room);
	t->full = !grown;
	if (!grown)
		return false;
	t->bytes = grown;
	t->room = room;
	return true;
}

/* What does not fit as a whole is left out as a whole. */
void json_piece_add(struct json_piece *t, const char *bytes, size_t n)
{
	if (!make_room(t, n))
		return;
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
}

/* How many bytes stand in a string as they are. */
static size_t plain_length(const unsigned char *p, size_t n)
{
	size_t i = 0;

	while (i < n && p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\')
		i++;
	return i;
}

/* A byte that is no UTF-8 is passed alone: the text behind it stays. */
void json_piece_string(struct json_piece *t, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + n;
	char escaped[OUT_JSON_MOST];

	json_piece_literal(t, "\"");
	while (p < end) {
		size_t len = plain_length(p, (size_t)(end - p));

		json_piece_add(t, (const char *)p, len);
		p += len;
		if (p == end)
			break;
		len = utf8_length(p, (size_t)(end - p));
		json_piece_add(t, escaped, out_json_character(escaped, p, len));
		p += len ? len : 1;
	}
	json_piece_literal(t, "\"");
}

/* Writes the digits in front of `end`; where they begin. */
static char *put_digits(char *end, uint64_t n, unsigned least)
{
	char *p = end;

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10, n || (size_t)(end - p) < least);
	return p;
}

/* The least number has no positive counterpart in its own type. */
static uint64_t size_of(int64_t n)
{
	return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

void json_piece_number(struct json_piece *t, int64_t n)
{
	char digits[24], *end = digits + sizeof(digits);
	char *p = put_digits(end, size_of(n), 1);

	if (n < 0)
		*--p = '-';
	json_piece_add(t, p, (size_t)(end - p));
}

/* Three decimals are nanoseconds: nothing is lost. */
void json_piece_us(struct json_piece *t, int64_t ns)
{
	char digits[32], *end = digits + sizeof(digits);
	char *p = put_digits(end, size_of(ns) % 1000, 3);

	*--p = '.';
	p = put_digits(p, size_of(ns) / 1000, 1);
	if (ns < 0)
		*--p = '-';
	json_piece_add(t, p, (size_t)(end - p));
}
