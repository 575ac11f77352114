/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seek - the function of Python's that ends steps: found wherever the program defines it,
 * and its calls seen from then on.
 *
 * Threads  seek_prepare: the agent's constructor. seek_look: one that imports a module,
 *          and so holds the interpreter's lock; it notices if it does not. seek_missing:
 *          any.
 * Memory   references to the function, and to the one that imports.
 * Errors   seek_missing says why there was no call.
 * Units    none.
 */
#ifndef PYTHON_SEEK_H
#define PYTHON_SEEK_H

#include <stdbool.h>
#include <stdint.h>

struct seek_listener {
	uint32_t (*begin)(void); /* it is called: a token for `end` */
	void (*end)(uint32_t token); /* it has returned, or raised */
	bool (*elsewhere)(void); /* do another thread's calls end the steps? */
};

/* From now on it is looked for: from the interpreter's start, if that is yet to come. */
void seek_prepare(const char *name, const struct seek_listener *to);
void seek_look(void);
void seek_fork_child(void);
/* Why it was never called; NULL: it was, or that was said, or there is no interpreter
 * here. */
const char *seek_missing(void);

#endif
