/* SPDX-License-Identifier: Apache-2.0 */
/* From a frame to its caller, where that is more than a frame pointer. */
#include "agent/hooks/unwind_walk.h"

#define PAGE    4096ull
#define NOTHING 16u /* an end below which nothing lies */

static inline bool may_load(uintptr_t at, uintptr_t sp, uintptr_t end)
{
	return at >= sp && at <= end - sizeof(uintptr_t);
}

/* To the caller. false: something would have to be loaded that may not be. *bp_at: where
 * rbp was loaded from; 0: more was loaded than that and the return address. */
static inline bool step(struct unwind_regs *r, uint64_t rule, uintptr_t end,
			uintptr_t *bp_at)
{
	enum rule_kind kind = rule_kind(rule);
	bool loads = rule_bp(rule) == BP_AT_CFA || rule_bp(rule) == BP_AT_BP;
	uintptr_t base = kind == RULE_SP || kind == RULE_LOAD_SP ? r->sp : r->bp;
	uintptr_t cfa = base + (uintptr_t)rule_offset(rule), at = 0;

	if (kind == RULE_LOAD_SP || kind == RULE_LOAD_BP) {
		if (!may_load(cfa, r->sp, end))
			return false;
		cfa = unwind_word(cfa) + (uintptr_t)rule_add(rule);
	}
	/* Up, always: so it ends. */
	if (cfa <= r->sp || cfa > end || cfa - r->sp < 8)
		return false;
	if (loads) {
		at = (rule_bp(rule) == BP_AT_CFA ? cfa : r->bp) +
		     (uintptr_t)rule_bp_offset(rule);
		if (!may_load(at, r->sp, end))
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

/* Out of a signal's handler. Where the signal came is no return address: one past it
 * stands for it, as if it were one. */
static bool step_signal(struct unwind_regs *r, struct unwind_bounds *b)
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

	if (!step(&w->r, rule, UINTPTR_MAX, &w->bp_at))
		return false;
	end = ((w->r.sp - 1) | (PAGE - 1)) + 1;
	if (end > w->b.end)
		w->b.end = end;
	return true;
}

/* What is neither a plain frame pointer nor plainly wrong; false when it ends here. */
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
		fine = step_signal(&w->r, &w->b);
		w->foreign = w->b.end != unwind_own.end;
		break;
	default:
		fine = w->foreign && own ? step_own(w, rule)
					 : step(&w->r, rule, w->b.end, &w->bp_at);
	}
	if (!fine)
		w->u.flags |= w->foreign ? STACK_FOREIGN : STACK_ENDED;
	return fine;
}
