/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first - the first moment at which an interpreter that is yet to start can be asked: it
 * has just been initialised, and its main thread is between two instructions.
 *
 * Threads  first_ask: the agent's constructor. What it is given is called by the
 *          interpreter's main thread, with its lock.
 * Memory   static.
 * Errors   false: the moment cannot be had, for the interpreter runs already, or has
 *          other allocators than its own (PYTHONMALLOC).
 * Units    none.
 */
#ifndef PYTHON_FIRST_H
#define PYTHON_FIRST_H

#include <stdbool.h>

/* After pending_find. Two may ask. */
bool first_ask(void (*then)(void));

#endif
