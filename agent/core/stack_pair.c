/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/stack_pair.h"

struct stack_pair stack_pair_get(const struct spool_view *v, uint32_t id)
{
	const volatile struct stack *s = stacks_at(v, id); /* may change */

	if (!s || !(s->flags & STACK_PAIR))
		return (struct stack_pair){ id, 0 };
	return (struct stack_pair){ s->caller, (uint32_t)s->frame };
}
