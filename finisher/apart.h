/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apart - what makes a process ours alone: nothing of the caller's is held by it.
 *
 * Threads  one, before there are more.
 * Memory   none.
 * Errors   none: what is refused is left as it is.
 * Units    none.
 */
#ifndef FINISHER_APART_H
#define FINISHER_APART_H

#include "finisher/finish.h"

#include <stdbool.h>

/* A session of its own, no descriptor but those of `f`, the first to go when memory is
 * short, all that limits allow. */
void apart_start(const struct finish *f);
/* The calling thread gives way to all others; so does the session, where each has its
 * share of the processor. */
void apart_give_way(void);
/* Has the session of that finisher its whole share of the processor, or else next to
 * none? If it is otherwise that is asked for. Who is not root may ask ten times a second,
 * all users of the machine together, so that one question may be in vain. */
bool apart_share(pid_t pid, bool whole);
/* Lines go to <logdir>/proflaunch.log from now on, and nothing of the launcher's is held
 * any more. */
void apart_linger(const struct finish *f);

#endif
