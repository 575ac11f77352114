/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mend - events that are no JSON: what was probably meant, and where the next one begins.
 *
 * PyTorch has written names with quotes and backslashes as they are, values such as
 * -nan(ind), and commas without a value. A text ends at the first quote behind which a
 * key, or the end of its object, follows.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   0 or SIZE_MAX, as said below.
 * Units    bytes.
 */
#ifndef REPORT_MEND_H
#define REPORT_MEND_H

#include <stddef.h>

#define MEND_MOST 16384u /* of an event; what is longer is not mended */

struct mended {
	size_t len;
	char text[4 * MEND_MOST + 64]; /* JSON, if the guess was good */
};

/* Mends the object at the begin of the text. Returns its length there; 0: its end is not
 * in the n bytes. */
size_t mend_event(struct mended *to, const char *text, size_t n);
/* Where the next object begins that has a key of events first; SIZE_MAX: nowhere. */
size_t mend_find_event(const char *text, size_t n);

#endif
