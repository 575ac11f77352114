/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar - numbers out of an input description, in the spelling of c10::IValue.
 *
 * Threads  one at a time.
 * Memory   the caller's.
 * Errors   scalar_walk.bad: the description breaks off, or makes no sense.
 * Units    bytes.
 */
#ifndef WRITER_SCALAR_H
#define WRITER_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/record_inputs.h"
#include "writer/text.h"

struct scalar_walk { /* through a description */
	const uint8_t *at, *end;
	bool bad;
};

struct scalar_type { /* "" = torch has no such word */
	char word[16]; /* of a collective */
	char name[24]; /* of an input */
};

/* By c10::ScalarType's numbers; both texts are "" for an unknown one. */
const struct scalar_type *scalar_type(unsigned dtype);

/* Returns the next byte or number; IN_END or 0, and `bad`, where the description ends. */
unsigned scalar_byte(struct scalar_walk *w);
int64_t scalar_number(struct scalar_walk *w);
void scalar_put_number(struct text *t, int64_t n);
/* Writes the value behind `tag` (an enum input_tag other than tensors and lists). */
void scalar_put_value(struct text *t, struct scalar_walk *w, unsigned tag);
/* Writes a list of such values behind IN_SCALARS, with brackets. */
void scalar_put_list(struct text *t, struct scalar_walk *w);

#endif
