/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pauses - what Python waits for while a window is open: collections of garbage, the
 * interpreter's lock, imports.
 *
 * Threads  pauses_want: the agent's constructor. pauses_found: one that may take the
 *          dynamic linker's lock, once the interpreter's functions are found.
 *          pauses_opened: any, without the scheduler's lock; pauses_ended: its holder.
 *          pauses_fork_child: a fork's child.
 * Memory   collector.h, imports.h, lock_wait.h.
 * Errors   a line for each kind that cannot be had, with the reason.
 * Units    none.
 */
#ifndef PYTHON_PAUSES_H
#define PYTHON_PAUSES_H

#include "agent/core/cycle_info.h"

#include <stdbool.h>

enum { PAUSES_GC = 1, PAUSES_GIL = 2, PAUSES_IMPORT = 4 };
void pauses_want(unsigned which); /* else nothing happens */
void pauses_found(void);
void pauses_opened(void); /* a window has opened, by this thread; before wish_opened */
void pauses_ended(struct cycle_info *info, bool kept);
void pauses_fork_child(void);

#endif
