/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c_events - the calls of C functions that the interpreter itself tells of: of any
 * function of a module or method of a type that a table has (builtin_function_or_method,
 * method_descriptor), as cProfile counts them.
 *
 * A call belongs to the frame that makes it. One whose return nobody tells of ends when
 * that frame makes the next one, or when a call around it ends.
 *
 * Threads  c_events_find: one with the interpreter's lock. The others: each for itself,
 *          with it.  Hot path.
 * Memory   about 40 KB of address space for each thread, from the arena.
 * Errors   calls within more than C_EVENTS others have no records, and are counted
 *          (PYTHON_DEEP).
 * Units    none.
 */
#ifndef PYTHON_C_EVENTS_H
#define PYTHON_C_EVENTS_H

#include <stdbool.h>

#define C_EVENTS 1024

bool c_events_find(
	void); /* looks up the interpreter's functions; false: one is missing */
/* The innermost frame calls it, a window is open. Nothing happens for what is no such
 * function. */
void c_events_begin(const void *called);
void c_events_end(const void *called); /* it has returned, or raised */
/* Is the innermost call that the thread is in of the function with this row? */
bool c_events_are_in(const void *row);

#endif
