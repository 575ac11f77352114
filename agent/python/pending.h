/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending - a call that the interpreter's main thread makes for us, between two of its
 * instructions.
 *
 * Threads  any; pending_find the agent's constructor; pending_after the main thread.
 * Memory   static.
 * Errors   false: there is no interpreter that runs, too many calls wait, or another
 *          thread asks than the process's first: 3.9 to 3.12 then forget a signal that
 *          has just come.
 * Units    none.
 */
#ifndef PYTHON_PENDING_H
#define PYTHON_PENDING_H

#include <stdbool.h>

bool pending_find(void);
bool pending_ready(void); /* it is initialised */
/* May be called from within malloc. */
bool pending_add(int (*call)(void *arg));
/* The same by any thread, where the version can be asked so. */
bool pending_add_any(int (*call)(void *arg));
/* Does this interpreter count the process's threads at the end of os.fork, and warn where
 * there are several? Since 3.12. */
bool pending_counts_threads(void);
/* In a function of C that Python has called: the call is made once that has returned, for
 * what it calls itself may be Python, too; or later, where it does not return soon.
 * False: no Python has called it. */
bool pending_after(int (*call)(void *arg));

#endif
