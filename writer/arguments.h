/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments - the sizes and numbers among an operator's arguments (record_inputs.h).
 *
 * Threads  any.
 * Memory   the caller's, 1 KiB; the description may be damaged or hostile.
 * Errors   false: it breaks off. An argument that is not there has the tag IN_END.
 * Units    elements.
 */
#ifndef WRITER_ARGUMENTS_H
#define WRITER_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/record_inputs.h"

#define ARGUMENTS     12
#define ARGUMENT_KEPT 5 /* dimensions that a formula asks for one by one */

struct argument {
	/* enum input_tag: IN_TENSOR for each kind of tensor, IN_SCALARS for a list of
	 * whole numbers, IN_OTHER for any other list. */
	unsigned tag;
	unsigned dtype;
	int64_t n; /* dimensions, or numbers of a list */
	int64_t at[ARGUMENT_KEPT], last; /* the first of them, and the last */
	int64_t all; /* their product; below 0: too large, or one is negative */
};

struct arguments {
	struct argument at[ARGUMENTS];
};

bool arguments_read(struct arguments *all, const uint8_t *inputs, size_t len);
/* Multiplies what is not negative; false: it has more than 63 bits, or is. */
bool arguments_multiply(int64_t *n, int64_t by);

#endif
