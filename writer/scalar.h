/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar - numbers out of an input description, in the spelling of c10::IValue.
 *
 * Threads  one at a time.
 * Memory   the caller's; a full text stays full (at == end) and is void.
 * Errors   scalar_walk.bad: the description breaks off, or makes no sense.
 * Units    bytes.
 */
#ifndef WRITER_SCALAR_H
#define WRITER_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scalar_walk { /* through a description */
	const uint8_t *at, *end;
	bool bad;
};

struct scalar_text { /* what comes out */
	char *at, *end;
};

unsigned scalar_byte(struct scalar_walk *w);
int64_t scalar_number(struct scalar_walk *w);
void scalar_put(struct scalar_text *t, const char *text, size_t len);
void scalar_put_number(struct scalar_text *t, int64_t n);
/* The value behind `tag` (an enum input_tag other than tensors and lists). */
void scalar_put_value(struct scalar_text *t, struct scalar_walk *w, unsigned tag);
/* A list of such values behind IN_SCALARS, with brackets. */
void scalar_put_list(struct scalar_text *t, struct scalar_walk *w);

#endif
