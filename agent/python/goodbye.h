/* SPDX-License-Identifier: Apache-2.0 */
/*
 * goodbye - the interpreter ends: no thread reads it any more.
 *
 * When it is finalised it frees the states of threads that still run, in C and without
 * its lock. Before that it calls what was registered with the module atexit: a function
 * of ours, not of Python's, which waits until no thread is in the middle of a walk. That
 * there is one more can be seen in atexit._ncallbacks(), and nowhere else.
 *
 * Threads  goodbye_ask: one with the interpreter's lock.
 * Memory   a reference to a builtin function, which the interpreter holds.
 * Errors   none: where the module is not there, or is not what it was, nothing is asked,
 *          and only threads with the lock are read (interpreter_tells_end).
 * Units    none.
 */
#ifndef PYTHON_GOODBYE_H
#define PYTHON_GOODBYE_H

#include <stdbool.h>

bool goodbye_find(void); /* looks up the interpreter's functions; false: one is missing */
void goodbye_ask(void); /* after goodbye_find */
/* Called first, with the lock; of four at most. */
void goodbye_add(void (*call)(void));

#endif
