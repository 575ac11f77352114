/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending - a call that the interpreter's main thread makes for us, between two of its
 * instructions.
 *
 * Threads  any; pending_find the agent's constructor; pending_after the main thread, in a
 *          function of C that Python has called.
 * Memory   static.
 * Errors   false: there is no interpreter that runs, or too many calls wait.
 * Units    none.
 */
#ifndef PYTHON_PENDING_H
#define PYTHON_PENDING_H

#include <stdbool.h>

bool pending_find(void);
bool pending_ready(void); /* it is initialised */
/* May be called from within malloc. */
bool pending_add(int (*call)(void *arg));
/* Does this interpreter count the process's threads at the end of os.fork, and warn where
 * there are several? Since 3.12. */
bool pending_counts_threads(void);
/* The call is made once that function has returned: what it calls itself may be Python,
 * too. */
bool pending_after(int (*call)(void *arg));

#endif
