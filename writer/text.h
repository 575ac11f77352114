/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text - a text that is put together in a room of fixed size.
 *
 * Threads  one at a time.
 * Memory   the caller's.
 * Errors   a text that is full stays so (at == end), and must not be used.
 * Units    bytes.
 */
#ifndef WRITER_TEXT_H
#define WRITER_TEXT_H

#include <string.h>

struct text {
	char *at, *end;
};

/* Appends bytes, or marks the text as full; one byte always stays free. */
static inline void text_put(struct text *t, const char *bytes, size_t len)
{
	if ((size_t)(t->end - t->at) <= len) {
		t->at = t->end;
		return;
	}
	memcpy(t->at, bytes, len);
	t->at += len;
}

#endif
