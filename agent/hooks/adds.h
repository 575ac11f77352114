/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adds - how much the dynamic linker has mapped.
 *
 * Threads  any.
 * Memory   static.
 * Errors   none.
 * Units    libraries.
 */
#ifndef HOOKS_ADDS_H
#define HOOKS_ADDS_H

/* How many libraries were ever mapped: a change means there is something to look at. The
 * first call, and one after a change, takes the lock of the linker's list. */
unsigned long long adds_count(void);

#endif
