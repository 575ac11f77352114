/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and modules as a reader of the spool finds them: it may be damaged or hostile.
 */
#include "agent/core/stacks.h"

const struct stack *stacks_at(const struct spool_view *v, uint32_t id)
{
	uint64_t where = (uint64_t)id * 8;

	return where < SPOOL_HEADER || where + sizeof(struct stack) > v->size
		       ? NULL
		       : (const struct stack *)(v->base + where);
}

unsigned stacks_depth(const struct spool_view *v, uint32_t id)
{
	const struct stack *s = stacks_at(v, id);

	return s ? s->depth : 0;
}

/* Each caller must have one frame less: so the loop ends, whatever the spool holds. */
unsigned stacks_get(const struct spool_view *v, uint32_t id,
		    struct stack_frame frame[STACKS_MOST], unsigned most, unsigned *flags)
{
	unsigned n = 0, left = 0;

	*flags = 0;
	do {
		const volatile struct stack *s = stacks_at(v, id); /* may change */
		unsigned depth = s ? s->depth : 0;
		uint64_t word;

		if (!depth || depth > STACKS_MOST || (n && depth != left))
			return 0;
		left = depth - 1;
		word = s->frame;
		if (word >> 63)
			frame[n++] = (struct stack_frame){ 0, word & INT64_MAX };
		else
			frame[n++] = (struct stack_frame){ (uint32_t)(word >> 32),
							   (uint32_t)word };
		*flags = s->flags & (STACK_CUT | STACK_ENDED | STACK_FOREIGN);
		id = s->caller;
	} while (left && n < most);
	if (left)
		*flags = STACK_CUT;
	return n;
}

const struct stack_module *stacks_module_get(const struct spool_view *v, uint32_t id)
{
	uint64_t where = (uint64_t)id * 8;
	const struct stack_module *m;

	if (where < SPOOL_HEADER || where + sizeof(*m) > v->size)
		return NULL;
	m = (const struct stack_module *)(v->base + where);
	if (m->path_len > STACKS_PATH_MOST || m->build_id_len > sizeof(m->build_id) ||
	    where + sizeof(*m) + m->path_len + 1u > v->size || m->path[m->path_len])
		return NULL;
	return m;
}
