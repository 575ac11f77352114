/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector - each collection of garbage: when, of which generation, what it found.
 *
 * The interpreter calls what is in the list gc.callbacks before and after: a builtin of
 * ours, not Python's, while a window is open.
 *
 * Threads  collector_begin, collector_end: one with the interpreter's lock and no
 *          exception set, which stays so.
 * Memory   references to the list, to the builtin, and to three texts, for good.
 * Errors   text that says why there are none.
 * Units    none.
 */
#ifndef PYTHON_COLLECTOR_H
#define PYTHON_COLLECTOR_H

#include <stdbool.h>

const char *collector_begin(void); /* NULL: it is in the list */
void collector_end(void);
bool collector_is_there(void); /* as far as is known without the lock */
void collector_fork_child(void);

#endif
