/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules - one table of rules by code address, shared by all threads of the process.
 *
 * Threads  any, also in signal handlers, without a lock; unwind_rules_start and
 *          unwind_rules_shrink while nobody walks.
 * Memory   anonymous: 128 KiB at first, 2 MiB more once 1,024 rules have been kept, where
 *          memory is not scarce; 384 KiB, as far as unwind_rule_fresh uses them.
 * Errors   RULE_NONE: nothing is known of that code.
 * Units    addresses of code: the byte before a return address, which is the call's.
 */
#ifndef UNWIND_RULES_H
#define UNWIND_RULES_H

#include "agent/unwind/modules.h"

#define UNWIND_RULES_BITS 17 /* log2 of the table's slots: 2 MiB ... */
#define UNWIND_RULES_FEW  13 /* ... and at first: 128 KiB */
#define UNWIND_PC_BITS    47

/* Two words, stored one after the other. The first is address and epoch, xor'ed with the
 * rule: two halves that do not belong together match no address. */
struct unwind_rule {
	_Atomic uint64_t key, rule;
};
/* The table; an address's hash, shifted right by unwind_rules_shift, is its slot. */
extern struct unwind_rule *_Atomic unwind_rules;
extern _Atomic uint32_t unwind_rules_shift;

/* Before the first walk; `many`: a grown table lies on a large page. False: no memory. */
bool unwind_rules_start(bool many);
/* The table is the first one again: what it has not is learned anew. */
void unwind_rules_shrink(void);

uint64_t unwind_rule_learn(uintptr_t at, uint64_t epoch);
/* What the object's own tables say, whatever lies in the table of rules. *m: the object
 * that the linker was asked for last, in this walk; or NULL. */
uint64_t unwind_rule_fresh(uintptr_t at, struct unwind_module **m);

#define UNWIND_RULE_HASH(at) ((at)*0x9e3779b97f4a7c15ull)

/* The shift is loaded first and stored last: so it is never too small for the table. */
static inline struct unwind_rule *unwind_rule_slot(uintptr_t at)
{
	uint32_t shift = atomic_load_explicit(&unwind_rules_shift, memory_order_acquire);

	return &atomic_load(&unwind_rules)[UNWIND_RULE_HASH(at) >> shift];
}

static inline uint64_t unwind_rule_at(uintptr_t at, uint64_t epoch)
{
	uint64_t key = at | epoch << UNWIND_PC_BITS, rule;
	struct unwind_rule *slot = unwind_rule_slot(at);

	rule = atomic_load_explicit(&slot->rule, memory_order_relaxed);
	if (__builtin_expect((atomic_load_explicit(&slot->key, memory_order_relaxed) ^
			      rule) == key,
			     1))
		return rule;
	return unwind_rule_learn(at, epoch);
}

/* Empties the table: for when an epoch's number comes again. */
void unwind_rules_clear(void);
/* Puts a rule into the table that is known from elsewhere. */
void unwind_rule_keep(uintptr_t at, uint64_t epoch, uint64_t rule);

#endif
