/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_symbol - will the function that ends a step (--marker symbol:name) be there?
 *
 * Threads  one.
 * Memory   static: one answer at a time.
 * Errors   in doubt the answer is STEP_LATER.
 * Units    none.
 *
 * The program is not run: its loader tells which libraries it needs, and their symbol
 * tables, and the program's own, are read as the agent will read them.
 */
#ifndef LAUNCHER_STEP_SYMBOL_H
#define LAUNCHER_STEP_SYMBOL_H

#include "config/config.h"
#include "launcher/target.h"

enum step_place {
	STEP_NONE, /* the marker is no symbol */
	STEP_HERE,
	STEP_LATER, /* a library that is loaded later, or a program that it starts, may
		       have it; or it cannot be looked into */
	STEP_NOWHERE, /* the function is nowhere, and cannot come later */
};

/* `said`: the file that has the function (STEP_HERE), or a text to say (STEP_LATER,
 * _NOWHERE). */
enum step_place step_symbol_find(const struct config *c, const struct target *t,
				 const char **said);

/* Could this program load a library, or start a program, that its files do not name? */
bool step_symbol_may_change(const struct target *t);

#endif
