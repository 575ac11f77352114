/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c_calls - the calls of C functions of chosen modules, while a window is open.
 *
 * The functions are found once a window is open, by whoever may ask the interpreter
 * (wish.h), and after each import of such a module. From then on windows open and close
 * for them by plain stores.
 *
 * Threads  c_calls_want: the agent's constructor. c_calls_opened: any, without the
 *          scheduler's lock; c_calls_ended: its holder. c_calls_fork_child: a fork's
 *          child.
 * Memory   c_tables.h; of what the program has, a reference to one function besides.
 * Errors   a line says why there are none.
 * Units    none.
 */
#ifndef PYTHON_C_CALLS_H
#define PYTHON_C_CALLS_H

#include "agent/core/cycle_info.h"

#include <stdbool.h>

/* Names of modules with commas between; the text stays. objects_only: functions.h has all
 * the others. Else nothing happens. */
void c_calls_want(const char *modules, bool objects_only);
void c_calls_opened(void); /* a window has opened, by this thread */
void c_calls_ended(const struct cycle_info *info, bool kept);
void c_calls_fork_child(void);

#endif
