/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_look - the calling stack, by us and by the compiler's own unwinder.
 *
 * Threads  one at a time.  Memory  static.  Errors  a failed test.  Units  frames.
 */
#ifndef TESTS_UNWIND_LOOK_H
#define TESTS_UNWIND_LOOK_H

#include "agent/core/clock.h"
#include "agent/core/spool_view.h"
#include "agent/core/stacks.h"
#include "agent/core/thread.h"
#include "agent/unwind/rewalk.h"
#include "agent/unwind/unwind.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"
#include "tests/unit/unwind_walk.h"

#include <string.h>
#include <unwind.h>

#define MOST 500

struct walked {
	uintptr_t pc[MOST];
	unsigned depth, flags;
};

static inline _Unwind_Reason_Code look_frame(struct _Unwind_Context *context, void *arg)
{
	struct walked *w = arg;
	int before = 0;
	uintptr_t pc = (uintptr_t)_Unwind_GetIPInfo(context, &before);

	if (pc && w->depth < MOST)
		w->pc[w->depth++] = pc + (before != 0);
	return _URC_NO_REASON;
}

static struct walked mine, other;
static struct cycle_info look_info;
static volatile unsigned agreed;

/* The caller's stack again, by what is known of the last one. */
static __attribute__((noinline)) void look_near(struct unwind_regs regs)
{
	static struct unwind_frame frame[MOST + 100];
	static uintptr_t bp[MOST + 100];
	static struct unwind_near near = {
		.room = MOST + 100, .matter = MOST + 100, .frame = frame, .bp = bp
	};
	static uintptr_t pc[MOST + 100];

	for (int i = 0; i < 2; i++) {
		struct unwind_result u;

		if (!unwind_near(regs, &near, &u)) {
			if (regs.sp - unwind_own.lo < unwind_own.end - unwind_own.lo &&
			    !(mine.flags & (STACK_FOREIGN | STACK_CUT)))
				ck_abort_msg("near: nothing");
			return;
		}
		if (u.depth + 1 != mine.depth || u.flags != mine.flags ||
		    unwind_near_pcs(&near, pc) != u.depth ||
		    memcmp(pc, mine.pc + 1, u.depth * sizeof(*pc)))
			ck_abort_msg("near: %u frames, flags %u; not: %u, %u", u.depth,
				     u.flags, mine.depth - 1, mine.flags);
	}
}

/* The same stack as it lies in the spool: what its callers are is known from before. */
static __attribute__((noinline)) void look_id(uint32_t id)
{
	static struct stack_frame frame[STACKS_MOST];
	struct spool_view v;
	unsigned flags, depth;

	if (mine.flags & STACK_FOREIGN)
		return;
	spool_view_init(&v, spool.base, spool.head->cap);
	depth = stacks_get(&v, id, frame, STACKS_MOST, &flags);
	if (depth != mine.depth || flags != mine.flags)
		ck_abort_msg("id %u: %u frames, flags %u; not: %u, %u", id, depth, flags,
			     mine.depth, mine.flags);
	for (unsigned i = 1; i < depth; i++) {
		const struct stack_module *m = stacks_module_get(&v, frame[i].module);

		if (frame[i].offset + (m ? m->bias : 0) != mine.pc[i] - 1)
			ck_abort_msg("id %u: frame %u is another one", id, i);
	}
}

/* Both begin here, at two addresses of this function. */
static __attribute__((noinline)) int look(int result)
{
	struct unwind_regs regs = UNWIND_CALLER;

	memset(&mine, 0, sizeof(mine));
	memset(&other, 0, sizeof(other));
	_Unwind_Backtrace(look_frame, &other);
	mine.depth = unwind_walk(mine.pc, MOST, &mine.flags);
	look_near(regs);
	look_id(unwind_stack(&look_info, 0));
	return result;
}

/* Frames from the second on that both have. (An assertion for each would be slow.) */
static inline unsigned alike(void)
{
	unsigned i = 1;

	while (i < mine.depth && i < other.depth && mine.pc[i] == other.pc[i])
		i++;
	return i;
}

static inline void agree(unsigned least)
{
	if (mine.depth < least || mine.flags || alike() != mine.depth ||
	    mine.depth != other.depth)
		ck_abort_msg("%u frames, flags %u, %u of %u the same", mine.depth,
			     mine.flags, alike(), other.depth);
	agreed++;
}

static inline void start(void)
{
	clock_start();
	ck_assert_int_eq(thread_start(), 0);
	ck_assert_int_eq(spool_open(NULL, 64 << 20), 0);
	ck_assert_int_eq(spool_prepare(64 << 20), 0);
	ck_assert_ptr_nonnull(thread_new());
	unwind_start(64, true);
}

#endif
