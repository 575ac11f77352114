/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hooks/stack.h"
#include "agent/core/emit.h"
#include "agent/core/record_cuda.h"
#include "agent/hooks/unwind.h"

void stack_take(uint32_t name)
{
	struct thread *t = emit_enter(REC_STACK);
	struct rec_stack *r = t ? emit_reserve(t, REC_STACK, sizeof(*r)) : NULL;

	if (r) {
		*r = (struct rec_stack){ .r.name = name, .stack = unwind_stack(NULL, 0) };
		r->r.begin = clock_ticks();
		emit_commit(t, &r->r, REC_STACK, 0, sizeof(*r));
	}
	if (t)
		emit_leave(t);
}
