/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apart - what parts the finisher from its caller: it holds nothing of the caller's.
 *
 * Threads  one, before there are more.
 * Memory   none.
 * Errors   none: a step that the system refuses is left out.
 * Units    none.
 */
#ifndef FINISHER_APART_H
#define FINISHER_APART_H

#include "finisher/finish.h"

#include <stdbool.h>

/* Gives the process a session of its own, no descriptors but those of `f`, the first
 * place to be killed when memory is short, and the highest limits that are allowed. */
void apart_start(const struct finish *f);
/* Lets the calling thread give way to all others, and the session, too, where each
 * session has its share of the processor. */
void apart_give_way(void);
/* Has the session of finisher `pid` its whole share of the processor (or, not `whole`,
 * next to none)? If not, asks the kernel for that. All users but root together may ask
 * ten times a second, so that one request may be in vain. */
bool apart_share(pid_t pid, bool whole);
/* From now on lines go to <logdir>/proflaunch.log, and the finisher holds nothing of the
 * launcher's any more. */
void apart_linger(const struct finish *f);

#endif
