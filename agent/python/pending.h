/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending - a call that the interpreter's main thread makes for us, between two of its
 * instructions.
 *
 * Threads  any; pending_find one that no lock of the dynamic linker can keep.
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
/* Does this interpreter count the process's threads after os.fork, and warn where there
 * are several? Since 3.12. */
bool pending_counts_threads(void);

#endif
