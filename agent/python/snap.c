/* SPDX-License-Identifier: Apache-2.0 */
/* An operator inside of another shares that one's stack, which is not read again. */
#include "agent/python/snap.h"
#include "agent/python/check.h"
#include "agent/python/last.h"

#include <errno.h>

/* False: the interpreter says another one. torch lets the interpreter's lock go before
 * most operators: then one soon after this is compared. */
static __attribute__((noinline)) bool check_stack(struct last *s)
{
	int saved = errno;
	bool same = true;

	/* Not always the same of a loop's operators. */
	s->checks = 4 + s->tries++ * 3 % 7;
	if (check_holds_lock()) {
		s->checks = LAST_CHECK;
		last_count(PYTHON_CHECKED);
		same = check_frames(&s->now);
		if (!same) {
			last_count(PYTHON_DISAGREED);
			interpreter_off("what was read is not what the interpreter says");
		}
	}
	errno = saved;
	return same;
}

uint32_t snap_stack(struct thread *t, const struct record *op, enum record_kind kind,
		    uint8_t *flags)
{
	const struct python_layout *l = interpreter.layout;
	const void *innermost = walk_innermost(l);
	struct last *s;
	uint64_t at;
	uint32_t id;

	if (!innermost || !(s = last_of(t)))
		return 0;
	at = (uintptr_t)layout_at(innermost, l->where);
	if (last_is_inside(s, innermost, at)) {
		*flags |= s->around_id ? OP_STACK | OP_SHARES : 0;
		return s->around_id;
	}
	walk_frames(&s->now, innermost);
	if (__builtin_expect(!--s->checks, 0) && !check_stack(s))
		return 0;
	id = last_id(s);
	if (kind == REC_OP) {
		s->around = op;
		s->frame = innermost;
		s->at = at;
		s->around_id = id;
	}
	if (!id)
		return 0;
	if (__builtin_expect(s->cut, 0))
		last_count(PYTHON_CUT);
	*flags |= OP_STACK;
	return id;
}

uint8_t snap_put(struct thread *t, struct rec_op *op, enum record_kind kind)
{
	uint8_t flags = 0;
	uint32_t id = snap_stack(t, &op->r, kind, &flags);

	if (id)
		*(struct op_stack *)(op + 1) = (struct op_stack){ .python = id };
	return flags;
}

void snap_undo(struct thread *t, const struct record *op)
{
	struct last *s = t->slot[THREAD_PYTHON];

	if (s && s->around == op)
		s->around = NULL;
}
