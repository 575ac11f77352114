/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - the profile function that each thread of the interpreter may have, up to
 * 3.11.
 *
 * One that has another's is left alone. Ours takes itself away at its first event after
 * the window. No audit hook of the program's is asked.
 *
 * Threads  profile_begin: one with the interpreter's lock. The others: any.
 * Memory   a reference to threading.Thread._bootstrap, and to the importer's function.
 * Errors   text that says why calls cannot be had.
 * Units    none.
 */
#ifndef PYTHON_PROFILE_H
#define PYTHON_PROFILE_H

#include <stdbool.h>

/* All threads get it, and those that begin until profile_end: for calls of Python
 * functions, of C functions, or both. NULL: done. */
const char *profile_begin(bool python, bool c);
void profile_end(void);
/* Does another tool have this thread's calls by now? Then those that are open end. */
void profile_check(void);

#endif
