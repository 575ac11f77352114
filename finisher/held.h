/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held - spools in memory: the launcher has them, and sends the finisher a copy of each.
 *
 * Threads  one.
 * Memory   none; a descriptor becomes its entry's in `known_all`.
 * Errors   a spool that was not sent is the next finisher's.
 * Units    none.
 */
#ifndef FINISHER_HELD_H
#define FINISHER_HELD_H

#include "finisher/finish.h"
#include "finisher/known.h"

/* Takes those that the launcher had when it forked this finisher. */
void held_take(struct known_all *all, const struct finish *f);
/* Takes those that it has sent since. */
void held_receive(struct known_all *all, const struct finish *f);

#endif
