/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk - the step from frame to frame that all walks are made of.
 *
 * Threads  any, also in signal handlers.
 * Memory   the caller's.
 * Errors   a walk that ends says why in its flags.
 * Units    addresses and bytes.
 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include "agent/core/stacks.h"
#include "agent/unwind/bounds.h"
#include "agent/unwind/rules.h"

#include <string.h>

struct unwind_regs {
	uintptr_t pc, sp, bp; /* after the return to `pc` */
};
struct unwind_result {
	unsigned depth, flags; /* enum stack_flag */
	bool whole; /* the walk came to the outermost frame, or was cut */
	unsigned known; /* unwind_near: so many outer frames are as they were */
};

/* ---- step.c ---- */

/* Loads from other functions' frames, which a sanitizer would take amiss. */
static inline __attribute__((no_sanitize("address", "thread"))) uintptr_t unwind_word(
	uintptr_t at)
{
	uintptr_t w;

	memcpy(&w, (const void *)at, sizeof(w));
	return w;
}

struct unwind_walk {
	struct unwind_regs r;
	struct unwind_bounds b;
	bool foreign;
	uintptr_t bp_at; /* of the last step */
	struct unwind_result u;
	uintptr_t *pc;
	unsigned most;
};

/* Takes any step but that of a plain frame pointer inside the stack; false: the walk
 * ends. */
bool unwind_step_any(struct unwind_walk *w, uint64_t rule, bool own);

static inline bool unwind_to_caller(struct unwind_walk *w, uint64_t rule, bool own)
{
	if (__builtin_expect(rule != RULE_FRAME_POINTER || w->r.bp < w->r.sp ||
				     w->r.bp > w->b.end - 16,
			     0))
		return unwind_step_any(w, rule, own);
	w->bp_at = w->r.bp;
	w->r.sp = w->r.bp + 16;
	w->r.pc = unwind_word(w->r.bp + 8);
	w->r.bp = unwind_word(w->r.bp);
	return true;
}

/* Steps to the caller; false: there is none. pc 0: where threads begin that nobody
 * called. */
static inline bool unwind_goes_on(struct unwind_walk *w, uint64_t epoch, bool own)
{
	return unwind_to_caller(w, unwind_rule_at(w->r.pc - 1, epoch), own) && w->r.pc;
}

/* ---- walk.c ---- */

void unwind_walk_start(void);
extern uintptr_t unwind_own_begin, unwind_own_size; /* the agent's code */

/* Is that code the agent's? Such frames are walked, but are none of the stack's. */
static inline bool unwind_is_own(uintptr_t pc)
{
	return pc - unwind_own_begin < unwind_own_size;
}

/* From `regs` outwards; `most` frames at most. */
struct unwind_result unwind_frames(struct unwind_regs regs, uintptr_t *pc, unsigned most);
/* The same by rules straight from the tables of each frame's object, for which the linker
 * is asked anew. */
struct unwind_result unwind_frames_fresh(struct unwind_regs regs, uintptr_t *pc,
					 unsigned most);

/* The registers of the caller of the function that this stands in, or of a function that
 * has said that its __builtin_frame_address(0) is `frame`. */
#define UNWIND_CALLER_OF(frame)                                                          \
	((struct unwind_regs){ ((const uintptr_t *)(frame))[1], (uintptr_t)(frame) + 16, \
			       ((const uintptr_t *)(frame))[0] })
#define UNWIND_CALLER UNWIND_CALLER_OF(__builtin_frame_address(0))

#endif
