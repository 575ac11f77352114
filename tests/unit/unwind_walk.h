/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_walk - the frames of whoever calls it, as return addresses.
 *
 * Threads  any, also in signal handlers.  Memory  the caller's.  Errors  0: none.
 * Units  addresses.
 */
#ifndef TESTS_UNWIND_WALK_H
#define TESTS_UNWIND_WALK_H

#include "agent/unwind/walk.h"

static __attribute__((noinline)) unsigned unwind_walk(uintptr_t *pc, unsigned most,
						      unsigned *flags)
{
	struct unwind_result u = unwind_frames(UNWIND_CALLER, pc, most);

	*flags = u.flags;
	return u.depth;
}

#endif
