/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_stack - the call stack behind an operator's record, before its inputs.
 *
 * Threads  as record.h.
 * Memory   the record's.
 * Errors   NULL: there is none, or the record is damaged.
 * Units    ids as stacks.h has them.
 */
#ifndef CORE_RECORD_STACK_H
#define CORE_RECORD_STACK_H

#include "agent/core/record.h"

#include <stddef.h>

_Static_assert(sizeof(struct record) == 24 && sizeof(struct rec_op) == 40, "sizes");

struct op_stack {
	uint32_t python; /* codes.h; 0 = none */
	uint32_t native; /* of the same moment; 0 = none */
};

static inline const struct op_stack *op_stack(const struct rec_op *op)
{
	return op->r.flags & OP_STACK &&
			       op->r.units * 8u >= sizeof(*op) + sizeof(struct op_stack)
		       ? (const struct op_stack *)(op + 1)
		       : NULL;
}

/* The description of the inputs (record_inputs.h), and how many bytes it may have. */
static inline const uint8_t *op_inputs(const struct rec_op *op, size_t *len)
{
	size_t before =
		sizeof(*op) + (op->r.flags & OP_STACK ? sizeof(struct op_stack) : 0);
	size_t size = op->r.units * 8u;

	*len = size > before ? size - before : 0;
	return (const uint8_t *)op + before;
}

#endif
