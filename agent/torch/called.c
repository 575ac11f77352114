/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operator that another one calls has neither stack: what lies between them is torch's
 * own. Where Python is, it says which those are (snap.c); where it is not, in a program
 * of C++ and on autograd's threads, an operator is inside of the one that is open.
 */
#include "agent/torch/called.h"
#include "agent/unwind/unwind.h"

bool called_start(const struct config *config)
{
	return CONFIG_HAS(config->native_stacks, NATIVE_OPS) &&
	       unwind_start(config->stack_depth, false);
}

static bool is_inside(const struct thread *t, const struct called *c)
{
	return c->around && c->cycle == t->cycle && c->tid == t->tid && !c->around->end;
}

/* An annotation has a native stack inside of an operator, too: whoever called it had
 * something to say. */
__attribute__((noinline)) uint8_t called_put(struct thread *t, struct called *c,
					     struct rec_op *op, enum record_kind kind)
{
	struct op_stack *to = (struct op_stack *)(op + 1);
	uint8_t flags = 0;
	uint32_t python = interpreter_stacks ? snap_stack(t, &op->r, kind, &flags) : 0;

	if (kind == REC_OP && (flags & OP_SHARES || (!python && is_inside(t, c)))) {
		*to = (struct op_stack){ .python = python };
		return flags;
	}
	if (kind == REC_OP)
		*c = (struct called){ &op->r, t->cycle, t->tid };
	*to = (struct op_stack){ python, unwind_stack(emit_info(), 0) };
	return python | to->native ? OP_STACK : 0;
}

void called_undo(struct thread *t, struct called *c, const struct rec_op *op)
{
	snap_undo(t, &op->r);
	if (c->around == &op->r)
		c->around = NULL;
}
