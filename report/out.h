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

/* "12.5 MiB", "-3.0 KiB", "96 B". */
const char *out_bytes(int64_t bytes);
/* "12,345". */
const char *out_count(int64_t n);
/* "12.345 ms". */
const char *out_ms(int64_t ns);
/* In place: what a terminal would obey becomes '?', line ends stay. */
void out_plain(char *text);
/* At most `most` columns, and nothing in it that a terminal would obey. */
void out_text(FILE *out, const char *text, size_t most);
/* A call site, a line for each of its names: the innermost where the line is, the others
 * below. A name that is too long loses its parameters first, its file and line never. */
void out_site(FILE *out, const char *text, int indent, size_t most);
/* A JSON string, with its quotes; what is no UTF-8 becomes U+FFFD. */
void out_json(FILE *out, const char *text);

#endif
