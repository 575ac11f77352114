/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marked - functions of Python's whose calls somebody waits for: each has roles, which
 * are numbers, and a call is told for each of them.
 *
 * Where one has several roles the highest begins first, and ends last.
 *
 * Threads  marked_start: the agent's constructor. marked_called: any. The others, and
 *          what is called: one with the interpreter's lock.
 * Memory   a reference to each function, for good.
 * Errors   marked_take: NULL, and *why is set.
 * Units    none.
 */
#ifndef PYTHON_MARKED_H
#define PYTHON_MARKED_H

#include "agent/python/slot.h"

#include <stdint.h>

#define MARKED_MOST 48 /* functions at once, and roles */

/* begin: a token for `end`, or 0; elsewhere: do another thread's calls end the steps? */
void marked_start(uint32_t (*begin)(unsigned role), void (*end)(uint32_t token),
		  bool (*elsewhere)(void));

struct marked;
/* The function's; of MARKED_MOST that have roles no other can be had. `name`, for what is
 * said, stays the caller's. */
struct marked *marked_take(void *function, const char *name, const char **why);
/* The roles that it has from now on, a bit each. None: it is let go. */
void marked_mean(struct marked *m, uint64_t roles);
void *marked_function(const struct marked *m);
const char *marked_why(const struct marked *m); /* not NULL: no call is seen any more */

/* `next` is called for who is none of these yet, but has such roles. */
void *marked_around(uint64_t roles, slot_call *next, void *function, void *const *args,
		    size_t count, void *names);
bool marked_called(unsigned role); /* was there a call of it? */
void marked_fork_child(void);

#endif
