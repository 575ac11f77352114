/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard - tells the heap's hooks whose work a thread does now.
 *
 * The word is 0 while the program runs.  It is GUARD_OURS while a function of ours works
 * on a thread of the program's: what that allocates is not the program's.  In a hooked
 * call it is the address of the call's frame, with what is known of the call in the low
 * bits, so that a call inside of it (realloc calls malloc) is not recorded twice; and a
 * frame that lies below the stack pointer is of a call that was left by longjmp, or by an
 * exception.
 *
 * Threads  each has its own word.
 * Memory   thread-local, there from a thread's start.
 * Errors   none.
 * Units    none.
 */
#ifndef BASE_GUARD_H
#define BASE_GUARD_H

#include <stdint.h>

enum { GUARD_EMITS = 1, GUARD_OURS = 2, GUARD_NESTED = 4, GUARD_LOOKS = 8 };

extern __thread uintptr_t guard_word __attribute__((tls_model("initial-exec")));

/* From here on the thread does our work; returns what guard_leave puts back. */
static inline uintptr_t guard_enter(void)
{
	uintptr_t before = guard_word;

	guard_word = GUARD_OURS;
	return before;
}

static inline void guard_leave(uintptr_t before)
{
	guard_word = before;
}

#endif
