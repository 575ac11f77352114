/* SPDX-License-Identifier: Apache-2.0 */
/* The native stacks of operators and annotations: their frames are named all at once,
 * and what is merged is counted, before the first event is written. */
#include "agent/core/record_stack.h"
#include "writer/python/python.h"
#include "writer/symbols/symbols.h"
#include "writer/trace.h"

/* The stacks of the next record that has a native one of its own; NULL: there is none. */
static const struct op_stack *next_stack(const struct trace *t, struct cursor *c)
{
	const struct op_stack *own;
	const struct record *r;
	uint64_t at;

	while (CONFIG_HAS(t->config->native_stacks, NATIVE_OPS) &&
	       (r = read_next(c, &at))) {
		if ((r->kind != REC_OP && r->kind != REC_ANNOTATION) ||
		    r->flags & OP_SHARES)
			continue;
		own = op_stack((const struct rec_op *)r);
		if (own && own->native)
			return own;
	}
	return NULL;
}

int python_want_ops(struct trace *t)
{
	struct cursor c = { .cycle = &t->cycle, .last = t->cycle.runs.n };
	const struct op_stack *own;
	int err = 0;

	while (!err && (own = next_stack(t, &c)))
		err = symbols_want_stack(t->symbols, own->native);
	return err;
}

void python_count_ops(struct trace *t)
{
	struct cursor c = { .cycle = &t->cycle, .last = t->cycle.runs.n };
	const struct op_stack *own;

	while ((own = next_stack(t, &c)))
		python_count(t, (struct stack_pair){ own->native, own->python });
}
