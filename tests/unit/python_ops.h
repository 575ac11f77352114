/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_ops - operators of a thread that runs python_image's interpreter.
 *
 * Threads  one.
 * Memory   static.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_PYTHON_OPS_H
#define TESTS_PYTHON_OPS_H

#include "tests/unit/python_image.h"

static uint8_t flags; /* of the last stack */

/* An operator begins; it is open until its end is set. */
static inline struct rec_op *begin_op(enum record_kind kind, uint32_t *id)
{
	struct thread *t = emit_enter(kind);
	struct rec_op *op;

	ck_assert_ptr_nonnull(t);
	op = emit_reserve(t, kind, sizeof(*op) + sizeof(struct op_stack));
	ck_assert_ptr_nonnull(op);
	flags = 0;
	*id = snap_stack(t, &op->r, kind, &flags);
	op->r.end = 0;
	emit_commit(t, &op->r, kind, flags, sizeof(*op) + sizeof(struct op_stack));
	emit_leave(t);
	return op;
}

static inline uint32_t whole_op(void)
{
	uint32_t id;
	struct rec_op *op = begin_op(REC_OP, &id);

	op->r.end = 1;
	return id;
}

/* "function (offset)" of each frame, innermost first. */
static inline const char *text_of(uint32_t id)
{
	static char text[4096];
	struct stack_frame f[STACKS_MOST];
	struct spool_view view;
	unsigned cut, n;

	ck_assert_int_eq(spool_view_init(&view, spool.base, spool.head->cap), 0);
	n = stacks_get(&view, id, f, STACKS_MOST, &cut);
	text[0] = '\0';
	for (unsigned i = 0; i < n && strlen(text) < 4000; i++) {
		const struct code *c = codes_get(&view, f[i].module);

		ck_assert_ptr_nonnull(c);
		sprintf(text + strlen(text), "%s(%u) ", code_name(c),
			(unsigned)f[i].offset);
	}
	return text;
}

#endif
