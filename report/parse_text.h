/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_text - the texts of JSON: escapes are decoded in the parser's buffer.
 *
 * Threads  one at a time.
 * Memory   the parser's buffer.
 * Errors   TOKEN_ERROR, as the parser's.
 * Units    bytes.
 */
#ifndef REPORT_PARSE_TEXT_H
#define REPORT_PARSE_TEXT_H

#include "report/parse.h"

/* Takes the text whose opening quote is next, and gives it as that token. */
enum token parse_text_take(struct parse *p, enum token token);

#endif
