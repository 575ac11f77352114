/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch - have a function called when a native function is entered.
 *
 * Threads  patch_symbol: one at a time.  `hit`: any that calls the function.
 * Memory   a page near the function, never given back.
 * Errors   false: not there (nothing is said: a later library may bring it). True:
 *          found, and that settles it: in place, or refused with one line that says why.
 * Units    none.
 *
 * The entry is changed by one aligned store into a jump to a stub of ours, which saves
 * all that a callee may be given, calls `hit`, runs the instructions that the jump
 * replaced and goes on behind them. No frame of ours is there while the function
 * runs, so exceptions and backtraces pass as before. Where the entry cannot be
 * changed safely, the GOT slots that lead to the function are, if there are any.
 */
#ifndef PATCH_PATCH_H
#define PATCH_PATCH_H

#include <stdbool.h>

/* `spec`: [library!]name; library: a glob on file names, tried without and with path. */
bool patch_symbol(const char *spec, void (*hit)(void));

#endif
