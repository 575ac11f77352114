/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marshal - values as Python's marshal.load reads them, since 3.4.
 *
 * Containers are begun, and what they hold follows. A tuple that comes several times is
 * written once: marshal_kept counts from 0 on, and marshal_again names its number.
 *
 * Threads  one at a time.
 * Memory   none.
 * Errors   `out` has its own: see ferror.
 * Units    bytes.
 */
#ifndef REPORT_EXPORT_MARSHAL_H
#define REPORT_EXPORT_MARSHAL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Keys and values follow by turns, then marshal_dict_end. */
void marshal_dict(FILE *out);
void marshal_dict_end(FILE *out);
/* `n` values follow. */
void marshal_tuple(FILE *out, uint32_t n);
void marshal_kept(FILE *out, uint32_t n);
void marshal_again(FILE *out, uint32_t number);

void marshal_int(FILE *out, uint64_t n);
void marshal_double(FILE *out, double x);
/* Well-formed UTF-8; what is longer than Python takes is cut. */
void marshal_text(FILE *out, const char *text, size_t len);

#endif
