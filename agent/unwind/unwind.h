/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind - the calling thread's native stack, from inside malloc or anywhere else.
 *
 * Threads  any, also in signal handlers; no lock, no malloc, never the dynamic linker's
 *          lock (glibc 2.35's _dl_find_object, else our own reading of /proc/self/maps).
 * Memory   one table of unwind rules and one of stacks for the process; loads from the
 *          stack only inside [stack pointer, the thread's verified stack end), and of a
 *          saved rbp the 128 bytes below, which a signal's frame leaves as they are.
 * Errors   a stack that ends early says why in its flags (stacks.h). errno is kept.
 * Units    frames, innermost first; the agent's own frames are left out.
 *
 * Every return address is confirmed by its own unwind rule (.eh_frame), kept by address:
 * where the rule says so the step is the frame pointer's, else CFA arithmetic.  One stack
 * in UNWIND_CHECK, later fewer, is walked again without the table; the two are compared.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include "agent/core/stacks.h"

#define UNWIND_CHECK         100
#define UNWIND_TRUSTED       100 /* checks of a thread; after them */
#define UNWIND_CHECK_TRUSTED 1000

/* depth: stack_depth; often: each allocation has a stack, so that large pages pay off. */
bool unwind_start(unsigned depth, bool often);
/* The id of the calling thread's stack, interned (stacks_add); 0 = none. Counts in info,
 * which may be NULL, some of it only in unwind_settle. `frame`: the frame of an outer
 * function of ours; where that is the program's callee, nothing of ours is walked. 0:
 * none is known. */
uint32_t unwind_stack(struct cycle_info *info, uintptr_t frame);
/* A window has been sealed: what threads have counted so far is added to its info. */
void unwind_settle(struct cycle_info *info);
/* dlclose was or is about to be called: what is known of addresses is void. */
void unwind_unmapped(void);
void unwind_fork_child(void);

#endif
