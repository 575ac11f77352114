/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules by code address, which all threads share without a lock. */
#include "agent/unwind/rules.h"
#include "base/sys.h"

#include <sys/mman.h>

#define SAID_BITS  14 /* 384 KiB, as far as it is used */
#define MANY       (1u << UNWIND_RULES_FEW >> 3) /* so many make the table grow */
#define SIZE(bits) (sizeof(struct unwind_rule) << (bits))
#define SIZE_FIRST (SIZE(UNWIND_RULES_FEW) + (sizeof(struct said) << SAID_BITS))

struct unwind_rule *_Atomic unwind_rules;
_Atomic uint32_t unwind_rules_shift;
static struct unwind_rule *few; /* the first table */
/* What tables said, behind it. `at` and `module` are stored xor'ed with `rule`: words
 * that two threads have stored together do not match. */
struct said {
	_Atomic uint64_t at, module, rule;
};
static struct said *said;
static _Atomic uint32_t kept; /* rules kept since the first table began */
static bool on_large; /* the second table lies on a large page */

static void use_table(struct unwind_rule *table, unsigned bits)
{
	atomic_store_explicit(&unwind_rules, table, memory_order_release);
	atomic_store_explicit(&unwind_rules_shift, 64 - bits, memory_order_release);
}

__attribute__((cold)) bool unwind_rules_start(bool many)
{
	if (few)
		return true;
	few = sys_map(SIZE_FIRST);
	said = few ? (struct said *)(few + (1 << UNWIND_RULES_FEW)) : NULL;
	on_large = many && !sys_scarce;
	atomic_store(&kept, 0);
	use_table(few, UNWIND_RULES_FEW);
	return few;
}

/*
 * Most processes know some hundred rules and are soon gone: a large page would have to be
 * cleared first, and in a fork's child, or its parent, it breaks into 512 small ones that
 * each further fork copies.  The first table stays where it is: another thread may be
 * reading it, and what it has need not be learned again.
 */
static __attribute__((cold, noinline)) void grow_table(void)
{
	struct unwind_rule *table = sys_scarce ? NULL
				    : on_large ? sys_map_large(SIZE(UNWIND_RULES_BITS))
					       : sys_map(SIZE(UNWIND_RULES_BITS));

	if (table)
		use_table(table, UNWIND_RULES_BITS);
}

__attribute__((cold)) void unwind_rules_shrink(void)
{
	struct unwind_rule *table = atomic_load(&unwind_rules);

	if (table == few)
		return; /* or there is none */
	use_table(few, UNWIND_RULES_FEW);
	munmap(table, SIZE(UNWIND_RULES_BITS));
}

static __attribute__((cold, noinline)) void clear_table(struct unwind_rule *table,
							unsigned bits)
{
	for (size_t i = 0; table && i < (size_t)1 << bits; i++) {
		atomic_store_explicit(&table[i].key, 0, memory_order_relaxed);
		atomic_store_explicit(&table[i].rule, 0, memory_order_relaxed);
	}
}

/* For when an epoch's number comes again: rules of the old one must not be there. */
void unwind_rules_clear(void)
{
	struct unwind_rule *table = atomic_load(&unwind_rules);

	clear_table(few, UNWIND_RULES_FEW);
	if (table != few)
		clear_table(table, UNWIND_RULES_BITS);
}

/* What the object's own tables say of an address; the linker is asked for the object
 * anew, because this checks what we remember of objects. */
uint64_t unwind_rule_fresh(uintptr_t at, struct unwind_module **m)
{
	size_t slot = UNWIND_RULE_HASH(at) >> (64 - SAID_BITS);
	uint64_t rule = said[slot].rule;

	if (!*m || at - (*m)->begin >= (*m)->end - (*m)->begin) {
		*m = unwind_find(at);
		if (*m && !unwind_find_holds(*m, at))
			*m = NULL;
		if (!*m)
			return RULE_NONE;
	}
	if ((said[slot].at ^ rule) == at && (said[slot].module ^ rule) == (uintptr_t)*m)
		return rule;
	rule = unwind_tables_rule(&(*m)->tables, at);
	said[slot].at = at ^ rule;
	said[slot].module = (uintptr_t)*m ^ rule;
	said[slot].rule = rule;
	return rule;
}

void unwind_rule_keep(uintptr_t at, uint64_t epoch, uint64_t rule)
{
	struct unwind_rule *slot;

	if (atomic_fetch_add_explicit(&kept, 1, memory_order_relaxed) == MANY)
		grow_table();
	slot = unwind_rule_slot(at);
	atomic_store_explicit(&slot->key, (at | epoch << UNWIND_PC_BITS) ^ rule,
			      memory_order_relaxed);
	atomic_store_explicit(&slot->rule, rule, memory_order_relaxed);
}

/* RULE_NONE: the first table does not have one for `at`. */
static uint64_t rule_of_first_table(uintptr_t at, uint64_t epoch)
{
	struct unwind_rule *slot = &few[UNWIND_RULE_HASH(at) >> (64 - UNWIND_RULES_FEW)];
	uint64_t rule = atomic_load_explicit(&slot->rule, memory_order_relaxed);

	return (atomic_load_explicit(&slot->key, memory_order_relaxed) ^ rule) ==
			       (at | epoch << UNWIND_PC_BITS)
		       ? rule
		       : RULE_NONE;
}

/* Code that is no object's (made at run time) is not kept: an object may come there. */
uint64_t unwind_rule_learn(uintptr_t at, uint64_t epoch)
{
	struct unwind_module *m = at >> UNWIND_PC_BITS ? NULL : unwind_find(at);
	uint64_t rule = m ? rule_of_first_table(at, epoch) : RULE_NONE;

	if (m && rule == RULE_NONE)
		rule = unwind_tables_rule(&m->tables, at);
	if (m)
		unwind_rule_keep(at, epoch, rule);
	return rule;
}
