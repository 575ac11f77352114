/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_pair - the native stack and Python's of one moment, under one id.
 *
 * Threads  as stacks.h.
 * Memory   a pair is an entry of stacks.h: its caller is the native stack, and its frame
 *          has no module, but Python's stack in the offset's place.
 * Errors   id 0: no room.
 * Units    ids of stacks; 0 = none.
 */
#ifndef CORE_STACK_PAIR_H
#define CORE_STACK_PAIR_H

#include "agent/core/stacks.h"

struct stack_pair {
	uint32_t native, python;
};

static inline uint32_t stack_pair_add(struct stack_pair pair, struct stacks_room *room)
{
	return stacks_add(pair.native, (struct stack_frame){ .offset = pair.python },
			  STACK_PAIR, room);
}

/* The spool may be damaged or hostile. An id that is no pair's is a native stack's. */
struct stack_pair stack_pair_get(const struct spool_view *v, uint32_t id);

#endif
