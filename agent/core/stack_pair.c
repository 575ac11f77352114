/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/stack_pair.h"

struct stack_pair stack_pair_get(const struct spool_view *v, uint32_t id)
{
	uint64_t where = (uint64_t)id * 8;
	const volatile struct stack *s; /* may change */

	if (where < SPOOL_HEADER || where + sizeof(*s) > v->size)
		return (struct stack_pair){ id, 0 };
	s = (const volatile struct stack *)(v->base + where);
	if (!(s->flags & STACK_PAIR))
		return (struct stack_pair){ id, 0 };
	return (struct stack_pair){ s->caller, (uint32_t)s->frame };
}
