/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewalk - a walk that ends where it meets the thread's last one.
 *
 * Threads  a struct unwind_near belongs to one thread; a signal handler that comes in the
 *          middle of a walk leaves it alone.
 * Memory   the caller's arrays.
 * Errors   false: this stack cannot be kept, and unwind_frames() has to walk it.
 * Units    addresses; 32-bit ones count bytes from the stack's end, and are negative.
 */
#ifndef UNWIND_REWALK_H
#define UNWIND_REWALK_H

#include "agent/unwind/walk.h"

/*
 * The thread's last walk. Most calls come from where the last one came from, or from
 * close by. What a rule makes of a frame is given by the frame's registers and the words
 * that it loads: where these are what they were, so is the caller. Nothing is assumed.
 */
struct unwind_frame {
	uintptr_t pc, word;
	int32_t sp, at; /* from the stack's end, negative; at: where `word` was loaded,
			   the frame pointer, or pc again where nothing else was */
	uint32_t stack; /* id of it with its callers; 0 = none */
	uint32_t depth : 31; /* frames from the outermost to this one, without ours */
	uint32_t own : 1; /* the agent's */
};
struct unwind_near {
	uint64_t epoch; /* of the rules */
	uintptr_t end; /* of the stack */
	unsigned count, room; /* of frame, outermost first: so the most of it can stay */
	unsigned matter; /* frames that must be right; those further out may be old */
	unsigned flags; /* of the walk */
	struct unwind_frame *frame;
	uintptr_t *bp; /* of each */
};

/* As unwind_frames(), starting from what is known of the last walk; this walk's frames
 * are near's afterwards. false: nothing is known of this stack; it is deep, or leaves the
 * thread's own. */
bool unwind_near(struct unwind_regs regs, struct unwind_near *near,
		 struct unwind_result *u);
unsigned unwind_near_pcs(const struct unwind_near *near, uintptr_t *pc); /* how many */
/* Would a walk from `regs` be the last one, which was whole, once more? */
bool unwind_near_same(const struct unwind_near *near, struct unwind_regs regs);

#endif
