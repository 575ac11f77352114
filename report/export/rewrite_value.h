/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_value - a value of a parser's as JSON again.
 *
 * Numbers keep their digits; those that JSON does not allow to stand as they are, such as
 * 007, lose their zeros.
 *
 * Threads  one at a time.
 * Memory   the text's.
 * Errors   the parser's and the text's own.
 * Units    none.
 */
#ifndef REPORT_EXPORT_REWRITE_VALUE_H
#define REPORT_EXPORT_REWRITE_VALUE_H

#include "report/export/json_piece.h"
#include "report/parse.h"

/* Copies the value whose first token was taken. */
void rewrite_value(struct json_piece *t, struct parse *p, enum token token);
/* Copies a key, behind a comma unless it is the first. */
void rewrite_key(struct json_piece *t, const struct parse *p, bool first);

#endif
