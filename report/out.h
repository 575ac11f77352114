/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out - numbers and names as people and programs read them.
 *
 * Threads  one at a time.
 * Memory   texts lie in a ring of static buffers: eight at once.
 * Errors   none.
 * Units    in the names.
 */
#ifndef REPORT_OUT_H
#define REPORT_OUT_H

#include <stdint.h>
#include <stdio.h>

/* The next of the ring, for other texts of the kind. */
#define OUT_BUFFER 48
char *out_buffer(void);
/* Sizes like "12.5 MiB", "-3.0 KiB", "96 B". */
const char *out_bytes(int64_t bytes);
/* Counts like "12,345". */
const char *out_count(int64_t n);
/* Times like "12.345 ms". */
const char *out_ms(int64_t ns);
/* Changes the text in place: bytes that a terminal would obey become '?', line ends
 * stay. */
void out_plain(char *text);
/* Writes at most `most` columns, and no byte that a terminal would obey. */
void out_text(FILE *out, const char *text, size_t most);
/* Writes a call site, a line for each of its names: the innermost on the current line,
 * the others below. A name that is too long loses its parameters first, its file and line
 * never. */
void out_site(FILE *out, const char *text, int indent, size_t most);
/* Writes a JSON string, with its quotes; bytes that are no UTF-8 become U+FFFD, and what
 * a terminal would obey is escaped. */
void out_json(FILE *out, const char *text);
/* The same; null of NULL and of an empty text. */
void out_json_or_null(FILE *out, const char *text);
/* A character of `n` bytes (0: a byte that is none) as it stands in a JSON string; how
 * many bytes that are. */
#define OUT_JSON_MOST 8
size_t out_json_character(char *to, const void *character, size_t n);

#endif
