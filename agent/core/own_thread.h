/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_thread - a thread of ours inside the program: it takes no signal, its name is ours,
 * and what the C library allocates for it is never the program's.
 *
 * Threads  one starter at a time for each struct own_thread.
 * Memory   a stack per struct own_thread, kept for its next thread.
 * Errors   0 or -errno.
 * Units    OS thread ids.
 */
#ifndef CORE_OWN_THREAD_H
#define CORE_OWN_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct own_thread { /* static, zeroed */
	void *(*run)(void *);
	char *stack;
	_Atomic uint32_t last; /* who runs on it, or ran; 0 = nobody */
};

/* Detached; run(NULL) is called in it. */
int own_thread_start(struct own_thread *t, void *(*run)(void *));
bool own_thread_gone(uint32_t tid); /* also from the kernel's view */

#endif
