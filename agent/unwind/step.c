/* SPDX-License-Identifier: Apache-2.0 */
/* The step from a frame to its caller, where that takes more than a frame pointer. */
#include "agent/unwind/walk.h"

#define PAGE     4096ull
#define NOTHING  16u /* an end below which nothing lies */
#define RED_ZONE 128 /* bytes below a stack pointer that a signal leaves alone */

static inline bool may_load(uintptr_t at, uintptr_t from, uintptr_t end)
{
	return at >= from && at <= end - sizeof(uintptr_t);
}

/* Where rbp may have been saved. When a function has left its frame, or a part of it, its
 * rule still says where rbp was: just below the stack pointer. */
static inline uintptr_t saved_from(uintptr_t sp, uintptr_t lo)
{
	return sp - lo < RED_ZONE ? lo : sp - RED_ZONE;
}

/* From a frame to its caller. false: something would have to be loaded that may not be.
 * *bp_at: where rbp was loaded from; 0: more was loaded than that and the return address.
 */
static inline bool step_to_caller(struct unwind_regs *r, uint64_t rule,
				  struct unwind_bounds b, uintptr_t *bp_at)
{
	uintptr_t end = b.end;
	enum rule_kind kind = rule_kind(rule);
	bool loads = rule_bp(rule) == BP_AT_CFA || rule_bp(rule) == BP_AT_BP;
	uintptr_t base = kind == RULE_SP || kind == RULE_LOAD_SP ? r->sp : r->bp;
	uintptr_t cfa = base + (uintptr_t)rule_offset(rule), at = 0;

	if (kind == RULE_LOAD_SP || kind == RULE_LOAD_BP) {
		if (!may_load(cfa, r->sp, end))
			return false;
		cfa = unwind_word(cfa) + (uintptr_t)rule_add(rule);
	}
	/* The stack pointer rises with each step: so a walk ends. */
	if (cfa <= r->sp || cfa > end || cfa - r->sp < 8)
		return false;
	if (loads) {
		at = (rule_bp(rule) == BP_AT_CFA ? cfa : r->bp) +
		     (uintptr_t)rule_bp_offset(rule);
		if (!may_load(at, saved_from(r->sp, b.lo), end))
			return false;
		r->bp = unwind_word(at);
	} else if (rule_bp(rule) == BP_LOST) {
		r->bp = 0; /* whatever needs it cannot be in [sp, end) */
	}
	r->pc = unwind_word(cfa - 8);
	r->sp = cfa;
	*bp_at = kind != RULE_SP && kind != RULE_BP ? 0 : loads ? at : cfa - 8;
	return true;
}

/* From a signal's handler to what it interrupted. That address is no return address, of
 * which the byte before is looked up: so it is told as one more. */
static bool step_over_signal(struct unwind_regs *r, struct unwind_bounds *b)
{
	uintptr_t sp;

	if (!may_load(r->sp + SIGNAL_PC, r->sp, b->end))
		return false;
	sp = unwind_word(r->sp + SIGNAL_SP);
	r->bp = unwind_word(r->sp + SIGNAL_BP);
	r->pc = unwind_word(r->sp + SIGNAL_PC) + 1;
	if (sp - unwind_own.lo < unwind_own.end - unwind_own.lo) {
		if (r->sp - unwind_own.lo < unwind_own.end - unwind_own.lo && sp <= r->sp)
			return false;
		*b = unwind_own;
	} else if (sp <= r->sp || sp >= b->end) {
		b->end = NOTHING; /* but where it was is known */
	}
	r->sp = sp;
	return true;
}

/* On a stack whose end is not known: our own frames are certain to be there, and so is
 * the page that each of them ends in. */
static bool step_own(struct unwind_walk *w, uint64_t rule)
{
	uintptr_t end;

	if (!step_to_caller(&w->r, rule, (struct unwind_bounds){ w->b.lo, UINTPTR_MAX },
			    &w->bp_at))
		return false;
	end = ((w->r.sp - 1) | (PAGE - 1)) + 1;
	if (end > w->b.end)
		w->b.end = end;
	return true;
}

/* Takes any step but that of a plain frame pointer inside the stack; false: the walk
 * ends. */
bool unwind_step_any(struct unwind_walk *w, uint64_t rule, bool own)
{
	bool fine;

	w->bp_at = 0;
	switch (rule_kind(rule)) {
	case RULE_NONE:
		w->u.flags |= STACK_ENDED;
		return false;
	case RULE_OUTERMOST:
		w->u.whole = true;
		return false;
	case RULE_SIGNAL:
		fine = step_over_signal(&w->r, &w->b);
		w->foreign = w->b.end != unwind_own.end;
		break;
	default:
		fine = w->foreign && own ? step_own(w, rule)
					 : step_to_caller(&w->r, rule, w->b, &w->bp_at);
	}
	if (!fine)
		w->u.flags |= w->foreign ? STACK_FOREIGN : STACK_ENDED;
	return fine;
}
