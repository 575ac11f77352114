/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weak - functions that a program may do without: `if (cuInit) cuInit(0);`.
 *
 * We export what libraries that are loaded later are to find in us, and so the loader
 * binds weak references to us in a program that has no such function.
 *
 * Threads  the constructor's.
 * Memory   none.
 * Errors   none; a slot that cannot be written stays as it is.
 * Units    none.
 */
#ifndef HOOKS_WEAK_H
#define HOOKS_WEAK_H

/* In objects that are there at the start, makes such references NULL again where only we
 * have the function. */
void weak_undo(void);

#endif
