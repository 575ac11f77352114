/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls - each call of a Python function, for a short while: a function of ours stands in
 * front of the one that executes frames (PEP 523).
 *
 * Up to a million calls, and 400 within each other, since from 3.11 on such calls lie on
 * the stack of C: deeper ones are not seen, and others when half of the 400 have ended.
 * Who has put something else there already keeps it.
 *
 * Threads  calls_find: any, first. The others, and what is called: with the interpreter's
 *          lock.
 * Memory   static.
 * Errors   false: this interpreter cannot be asked.
 * Units    none.
 */
#ifndef PYTHON_CALLS_H
#define PYTHON_CALLS_H

#include "agent/python/slot.h"

#include <stdint.h>

struct calls_listener {
	/* This function (since 3.11, else NULL) with this code is called; an exception is
	 * not set. Not 0: `around` is to make the call, by `run` with NULL and `args`. */
	uint64_t (*look)(const void *function, const void *code);
	void *(*around)(uint64_t what, slot_call *run, void *function, void *const *args,
			size_t count, void *names);
};

bool calls_find(void); /* looks up the interpreter's functions; false: one is missing */
void calls_watch(const struct calls_listener *to);
void calls_leave(void); /* watches no more, until calls_watch */

#endif
