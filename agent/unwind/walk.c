/* SPDX-License-Identifier: Apache-2.0 */
/* The walk that begins with nothing but the registers. */
#include "agent/unwind/walk.h"

uintptr_t unwind_own_begin, unwind_own_size;

void unwind_walk_start(void)
{
#ifndef HOOK_NO_EXPORT /* in a unit test, the agent is a part of the program */
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char etext[] __attribute__((visibility("hidden")));

	unwind_own_begin = (uintptr_t)__ehdr_start;
	unwind_own_size = (uintptr_t)etext - unwind_own_begin;
#endif
}

/* false: the frame is one more than was asked for. The agent's own are not counted. */
static inline bool take_frame(struct unwind_walk *w, uintptr_t pc, bool own)
{
	if (own)
		return true;
	if (__builtin_expect(w->u.depth == w->most, 0)) {
		w->u.flags |= STACK_CUT;
		w->u.whole = true;
		return false;
	}
	w->pc[w->u.depth++] = pc;
	return true;
}

struct unwind_result unwind_frames(struct unwind_regs regs, uintptr_t *pc, unsigned most)
{
	uint64_t epoch = atomic_load_explicit(&unwind_epoch, memory_order_acquire);
	struct unwind_walk w = { .r = regs, .pc = pc, .most = most };
	bool own;

	w.b = unwind_bounds(regs.sp, &w.foreign);
	do
		own = unwind_is_own(w.r.pc);
	while (w.r.pc && take_frame(&w, w.r.pc, own) && unwind_goes_on(&w, epoch, own));
	return w.u;
}

struct unwind_result unwind_frames_fresh(struct unwind_regs regs, uintptr_t *pc,
					 unsigned most)
{
	struct unwind_walk w = { .r = regs, .pc = pc, .most = most };
	struct unwind_module *m = NULL;
	bool own;

	w.b = unwind_bounds(regs.sp, &w.foreign);
	do
		own = unwind_is_own(w.r.pc);
	while (w.r.pc && take_frame(&w, w.r.pc, own) &&
	       unwind_to_caller(&w, unwind_rule_fresh(w.r.pc - 1, &m), own));
	return w.u;
}
