/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_piece - a piece of JSON that is made in memory before it is written.
 *
 * Threads  one at a time.
 * Memory   grows up to JSON_PIECE_MOST; json_piece_free.
 * Errors   `full`, from then on until it is cleared: there is no memory, or the piece is
 *          too long.
 * Units    bytes.
 */
#ifndef REPORT_EXPORT_JSON_PIECE_H
#define REPORT_EXPORT_JSON_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_PIECE_MOST (64u << 20)

struct json_piece {
	char *bytes;
	size_t n, room;
	bool full;
	bool wide; /* a blank behind commas and colons, as HTA wants it of "rank" */
};

void json_piece_free(struct json_piece *t);
void json_piece_add(struct json_piece *t, const char *bytes, size_t n);
/* Adds a string with its quotes, which may have a NUL in it: valid whatever it is. */
void json_piece_string(struct json_piece *t, const char *text, size_t n);
void json_piece_number(struct json_piece *t, int64_t n);
/* Adds nanoseconds as microseconds with three decimals. */
void json_piece_us(struct json_piece *t, int64_t ns);

#define json_piece_literal(t, text) json_piece_add((t), (text), sizeof(text) - 1)

#endif
