/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the rules of the code, by address. */
#include "agent/core/sys.h"
#include "agent/hooks/unwind_walk.h"

#define SAID 16384u /* 384 KiB, as far as it is used */

static struct unwind_rule rules[UNWIND_RULES] __attribute__((aligned(64)));
struct unwind_rule *unwind_rules = rules;

void unwind_rules_many(void)
{
	struct unwind_rule *many =
		unwind_rules == rules ? sys_map_large(sizeof(rules)) : NULL;

	if (many)
		unwind_rules = many;
}

/* An epoch's number comes again. */
void unwind_rules_clear(void)
{
	for (size_t i = 0; i < UNWIND_RULES; i++) {
		atomic_store_explicit(&unwind_rules[i].key, 0, memory_order_relaxed);
		atomic_store_explicit(&unwind_rules[i].rule, 0, memory_order_relaxed);
	}
}

/* By what the object's own tables say of an address: the object is asked for anew. */
uint64_t unwind_rule_fresh(uintptr_t at, struct unwind_module **m)
{
	static struct { /* what they said; of one entry, or the first two say nothing */
		_Atomic uint64_t at, module, rule;
	} said[SAID];
	size_t slot = unwind_rule_slot(at) % SAID;
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
	size_t slot = unwind_rule_slot(at);

	atomic_store_explicit(&unwind_rules[slot].key,
			      (at | epoch << UNWIND_PC_BITS) ^ rule,
			      memory_order_relaxed);
	atomic_store_explicit(&unwind_rules[slot].rule, rule, memory_order_relaxed);
}

/* Code that is no object's (made at run time) is not kept: an object may come there. */
uint64_t unwind_rule_learn(uintptr_t at, uint64_t epoch)
{
	struct unwind_module *m = at >> UNWIND_PC_BITS ? NULL : unwind_find(at);
	uint64_t rule = m ? unwind_tables_rule(&m->tables, at) : RULE_NONE;

	if (m)
		unwind_rule_keep(at, epoch, rule);
	return rule;
}
