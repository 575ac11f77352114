/* SPDX-License-Identifier: Apache-2.0 */
/* From frame to frame, by the rules of the code; the rules are kept by address. */
#include "agent/core/stacks.h"
#include "agent/hooks/unwind_parts.h"

#include <string.h>

#define RULES      16384u /* a power of two; 256 KiB */
#define RULES_BITS 14
#define PC_BITS    47
#define PAGE       4096ull
#define NOTHING    16u /* an end below which nothing lies */

/* One rule: two words that are stored one after the other. The first is the address and
 * the epoch, xor'ed with the rule: two halves that do not belong together are nobody's.
 */
static struct {
	_Atomic uint64_t key, rule;
} rules[RULES] __attribute__((aligned(64)));

static uintptr_t own_begin, own_size; /* the agent's code */

void unwind_walk_start(void)
{
#ifndef HOOK_NO_EXPORT /* in a unit test, the agent is a part of the program */
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char etext[] __attribute__((visibility("hidden")));

	own_begin = (uintptr_t)__ehdr_start;
	own_size = (uintptr_t)etext - own_begin;
#endif
}

/* An epoch's number comes again. */
void unwind_rules_clear(void)
{
	for (size_t i = 0; i < RULES; i++) {
		atomic_store_explicit(&rules[i].key, 0, memory_order_relaxed);
		atomic_store_explicit(&rules[i].rule, 0, memory_order_relaxed);
	}
}

static uint64_t rule_fresh(uintptr_t at)
{
	struct unwind_module *m = unwind_find(at);

	return m && unwind_find_holds(m, at) ? unwind_tables_rule(&m->tables, at)
					     : RULE_NONE;
}

static inline size_t slot_of(uintptr_t at)
{
	return at * 0x9e3779b97f4a7c15ull >> (64 - RULES_BITS);
}

void unwind_rule_keep(uintptr_t at, uint64_t epoch, uint64_t rule)
{
	size_t slot = slot_of(at);

	atomic_store_explicit(&rules[slot].key, (at | epoch << PC_BITS) ^ rule,
			      memory_order_relaxed);
	atomic_store_explicit(&rules[slot].rule, rule, memory_order_relaxed);
}

/* Code that is no object's (made at run time) is not kept: an object may come there. */
static __attribute__((noinline)) uint64_t rule_learn(uintptr_t at, uint64_t epoch)
{
	struct unwind_module *m = at >> PC_BITS ? NULL : unwind_find(at);
	uint64_t rule = m ? unwind_tables_rule(&m->tables, at) : RULE_NONE;

	if (m)
		unwind_rule_keep(at, epoch, rule);
	return rule;
}

static inline uint64_t rule_at(uintptr_t at, uint64_t epoch)
{
	uint64_t key = at | epoch << PC_BITS, rule;
	size_t slot = slot_of(at);

	rule = atomic_load_explicit(&rules[slot].rule, memory_order_relaxed);
	if (__builtin_expect(
		    (atomic_load_explicit(&rules[slot].key, memory_order_relaxed) ^
		     rule) == key,
		    1))
		return rule;
	return rule_learn(at, epoch);
}

static inline bool may_load(uintptr_t at, uintptr_t sp, uintptr_t end)
{
	return at >= sp && at <= end - sizeof(uintptr_t);
}

/* Other functions' frames, which a sanitizer takes amiss. */
static inline __attribute__((no_sanitize("address", "thread"))) uintptr_t word(
	uintptr_t at)
{
	uintptr_t w;

	memcpy(&w, (const void *)at, sizeof(w));
	return w;
}

/* To the caller. false: something would have to be loaded that may not be. */
static inline bool step(struct unwind_regs *r, uint64_t rule, uintptr_t end)
{
	enum rule_kind kind = rule_kind(rule);
	uintptr_t base = kind == RULE_SP || kind == RULE_LOAD_SP ? r->sp : r->bp;
	uintptr_t cfa = base + (uintptr_t)rule_offset(rule), at;

	if (kind == RULE_LOAD_SP || kind == RULE_LOAD_BP) {
		if (!may_load(cfa, r->sp, end))
			return false;
		cfa = word(cfa) + (uintptr_t)rule_add(rule);
	}
	/* Up, always: so it ends. */
	if (cfa <= r->sp || cfa > end || cfa - r->sp < 8)
		return false;
	if (rule_bp(rule) != BP_SAME) {
		at = (rule_bp(rule) == BP_AT_CFA ? cfa : r->bp) +
		     (uintptr_t)rule_bp_offset(rule);
		/* Lost: whatever needs it cannot be in [sp, end). */
		if (rule_bp(rule) == BP_LOST)
			r->bp = 0;
		else if (!may_load(at, r->sp, end))
			return false;
		else
			r->bp = word(at);
	}
	r->pc = word(cfa - 8);
	r->sp = cfa;
	return true;
}

/* Out of a signal's handler. Where the signal came is no return address: one past it
 * stands for it, as if it were one. */
static bool step_signal(struct unwind_regs *r, struct unwind_bounds *b)
{
	uintptr_t sp;

	if (!may_load(r->sp + SIGNAL_PC, r->sp, b->end))
		return false;
	sp = word(r->sp + SIGNAL_SP);
	r->bp = word(r->sp + SIGNAL_BP);
	r->pc = word(r->sp + SIGNAL_PC) + 1;
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

struct walk {
	struct unwind_regs r;
	struct unwind_bounds b;
	bool foreign;
};

/* On a stack whose end is not known: our own frames are certain to be there, and so is
 * the page that each of them ends in. */
static bool step_own(struct walk *w, uint64_t rule)
{
	uintptr_t end;

	if (!step(&w->r, rule, UINTPTR_MAX))
		return false;
	end = ((w->r.sp - 1) | (PAGE - 1)) + 1;
	if (end > w->b.end)
		w->b.end = end;
	return true;
}

/* What is neither a plain frame pointer nor plainly wrong; the flags when it ends here.
 */
static bool step_any(struct walk *w, uint64_t rule, bool own, unsigned *flags)
{
	bool fine;

	switch (rule_kind(rule)) {
	case RULE_NONE:
		*flags |= STACK_ENDED;
		return false;
	case RULE_OUTERMOST:
		return false;
	case RULE_SIGNAL:
		fine = step_signal(&w->r, &w->b);
		w->foreign = w->b.end != unwind_own.end;
		break;
	default:
		fine = w->foreign && own ? step_own(w, rule)
					 : step(&w->r, rule, w->b.end);
	}
	if (!fine)
		*flags |= w->foreign ? STACK_FOREIGN : STACK_ENDED;
	return fine;
}

struct unwind_result unwind_frames(struct unwind_regs regs, uintptr_t *pc, unsigned most,
				   bool fresh)
{
	uint64_t epoch = atomic_load_explicit(&unwind_epoch, memory_order_acquire);
	struct unwind_result u = { 0 };
	struct walk w = { .r = regs };
	uint64_t rule;

	w.b = unwind_bounds(regs.sp, &w.foreign);
	while (w.r.pc) { /* 0: how threads begin that are nobody's */
		bool own = w.r.pc - own_begin < own_size;

		if (!own) {
			if (u.depth == most) {
				u.flags |= STACK_CUT;
				break;
			}
			pc[u.depth++] = w.r.pc;
			u.hash = ((u.hash << 7 | u.hash >> 57) ^ w.r.pc) *
				 0x9e3779b97f4a7c15ull;
		}
		rule = fresh ? rule_fresh(w.r.pc - 1) : rule_at(w.r.pc - 1, epoch);
		if (__builtin_expect(rule == RULE_FRAME_POINTER && w.r.bp >= w.r.sp &&
					     w.r.bp <= w.b.end - 16,
				     1)) {
			w.r.sp = w.r.bp + 16;
			w.r.pc = word(w.r.bp + 8);
			w.r.bp = word(w.r.bp);
		} else if (!step_any(&w, rule, own, &u.flags)) {
			break;
		}
	}
	u.hash ^= u.flags;
	return u;
}
