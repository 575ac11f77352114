/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seek - the functions of Python's that a run's steps and stages hang on: found wherever
 * the program defines them, and their calls seen from then on.
 *
 * Each is wanted under a number, `which`. What has several of them (one function by two
 * names, or twice the same name) begins with the highest and ends with it.
 *
 * Threads  seek_want, seek_prepare: the agent's constructor. seek_look: one that imports
 *          a module, and so holds the interpreter's lock; it notices if it does not.
 *          seek_missing: the one that ends the process.
 * Memory   references to the functions, and to the one that imports.
 * Errors   seek_missing says why there was no call.
 * Units    none.
 */
#ifndef PYTHON_SEEK_H
#define PYTHON_SEEK_H

#include <stdbool.h>
#include <stdint.h>

#define SEEK_MOST 48 /* names, and numbers */

struct seek_listener {
	uint32_t (*begin)(unsigned which); /* it is called: a token for `end`, or 0 */
	void (*end)(uint32_t token); /* it has returned, or raised */
	bool (*elsewhere)(void); /* do another thread's calls end the steps? */
};

/* Before seek_prepare: `a.b.f|c.d.f` are names of the same thing, whichever there is, as
 * are those of a second call with this number; where there are both, both are. False: it
 * is too much or no name, and nothing has changed. */
bool seek_want(const char *names, unsigned which);
/* From now on they are looked for: from the interpreter's start, if that is yet to come.
 */
void seek_prepare(const struct seek_listener *to);
void seek_look(void);
void seek_fork_child(void);
/* Why it was never called; NULL: it was, or that was said, or there is no interpreter
 * here. */
const char *seek_missing(unsigned which);

#endif
