/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_walk - the step from frame to frame that all walks are made of.
 *
 * Threads  any, also in signal handlers.
 * Memory   one table of rules for the process.
 * Errors   a walk that ends says why in its flags.
 * Units    addresses and bytes.
 */
#ifndef HOOKS_UNWIND_WALK_H
#define HOOKS_UNWIND_WALK_H

#include "agent/core/stacks.h"
#include "agent/hooks/unwind_parts.h"

#include <string.h>

/* ---- unwind_rules.c: rules, by address ---- */

#define UNWIND_RULES      131072u /* a power of two; 2 MiB, as far as it is used */
#define UNWIND_RULES_BITS 17
#define UNWIND_PC_BITS    47

/* One rule: two words that are stored one after the other. The first is the address and
 * the epoch, xor'ed with the rule: two halves that do not belong together are nobody's.
 */
extern struct unwind_rule {
	_Atomic uint64_t key, rule;
} * unwind_rules;

void unwind_rules_many(void); /* on one large page; before the first walk */

uint64_t unwind_rule_learn(uintptr_t at, uint64_t epoch);
/* What the object's own tables say, whatever lies in the table of rules. *m: the object
 * that the linker was asked for last, in this walk; or NULL. */
uint64_t unwind_rule_fresh(uintptr_t at, struct unwind_module **m);

static inline size_t unwind_rule_slot(uintptr_t at)
{
	return at * 0x9e3779b97f4a7c15ull >> (64 - UNWIND_RULES_BITS);
}

static inline uint64_t unwind_rule_at(uintptr_t at, uint64_t epoch)
{
	uint64_t key = at | epoch << UNWIND_PC_BITS, rule;
	size_t slot = unwind_rule_slot(at);

	rule = atomic_load_explicit(&unwind_rules[slot].rule, memory_order_relaxed);
	if (__builtin_expect(
		    (atomic_load_explicit(&unwind_rules[slot].key, memory_order_relaxed) ^
		     rule) == key,
		    1))
		return rule;
	return unwind_rule_learn(at, epoch);
}

/* ---- unwind_step.c ---- */

/* Other functions' frames, which a sanitizer takes amiss. */
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

/* What is neither a plain frame pointer nor plainly wrong; false when it ends here. */
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

/* To the caller, if that is somebody; 0: how threads begin that are nobody's. */
static inline bool unwind_goes_on(struct unwind_walk *w, uint64_t epoch, bool own)
{
	return unwind_to_caller(w, unwind_rule_at(w->r.pc - 1, epoch), own) && w->r.pc;
}

/* ---- unwind_walk.c ---- */

extern uintptr_t unwind_own_begin, unwind_own_size; /* the agent's code */

/* Is that code the agent's? Such frames are walked, but are none of the stack's. */
static inline bool unwind_is_own(uintptr_t pc)
{
	return pc - unwind_own_begin < unwind_own_size;
}

#endif
