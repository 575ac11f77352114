/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track - the Python functions that a thread is in: a record for each call.
 *
 * Frames say who called whom, so that a call whose return nobody has told of ends when
 * its thread is seen outside of it. At a thread's first event in a window those that it
 * is in already become records from the window's begin on.
 *
 * Threads  each for itself, with the interpreter's lock.  Hot path.
 * Memory   about 100 KB of address space for each thread, from the arena.
 * Errors   calls that lie deeper than TRACK_LEVELS have no records, and are counted
 *          (PYTHON_DEEP).
 * Units    none.
 */
#ifndef PYTHON_TRACK_H
#define PYTHON_TRACK_H

#define TRACK_LEVELS 4096

/* The innermost frame begins, or goes on: a generator. A window is open. code: what it
 * executes, or NULL where only that frame can be meant. */
void track_begin(const void *code);
/* It ends: it returns, yields or lets an exception through. */
void track_end(const void *code);
/* No event of this thread's comes any more. */
void track_leave(void);

#endif
