/* SPDX-License-Identifier: Apache-2.0 */
/*
 * same - one id for stacks with the same frames and flags: where the agent's index is
 * crowded, it stores a stack again.
 *
 * Threads  one at a time.
 * Memory   a quarter of the spool's address space, used as far as there are stacks, and
 *          16 to 32 bytes for each frame of a stack.
 * Errors   0 or -ENOMEM at the start; afterwards a stack keeps its id.
 * Units    ids of stacks.
 */
#ifndef WRITER_HEAP_SAME_H
#define WRITER_HEAP_SAME_H

#include "agent/core/stacks.h"

#include <stddef.h>

struct same {
	const struct spool_view *view;
	uint32_t *first; /* by id: the first stack with its frames; 0 = not known yet */
	size_t bytes;
	struct same_slot {
		uint32_t stack, caller; /* the caller's first; stack 0 = empty */
	} * slot; /* by frame and caller: open addressing */
	size_t slots, n;
};

int same_start(struct same *s, const struct spool_view *v);
/* The stack that stands for all with its frames. */
uint32_t same_first(struct same *s, uint32_t stack);
void same_end(struct same *s);

#endif
