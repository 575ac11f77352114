/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check - what was read, compared with what the interpreter itself says.
 *
 * Threads  one that holds the interpreter's lock.
 * Memory   none is kept: each reference that the interpreter hands out is given back.
 * Errors   text that says what is not as expected; NULL: all is.
 * Units    none.
 */
#ifndef PYTHON_CHECK_H
#define PYTHON_CHECK_H

#include "agent/python/walk.h"

/* Looks up the interpreter's functions; false: one is missing. */
bool check_start(void);
/* Everything that a stack is made of: frames, code, lines, names, tables. *frames: how
 * many were compared; 0: there was none. */
const char *check_all(const struct walk *w, unsigned *frames);
/* Do frames say rightly whether C called them, as far as anybody knows? */
bool check_entries(const struct walk *w);
/* Frames, and where each is: in the middle of an operator. */
bool check_frames(const struct walk *w);
/* Does this thread hold the main interpreter's lock, with no exception set? */
bool check_holds_lock(void);

#endif
