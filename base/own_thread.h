/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_thread - a thread of ours inside the program: it takes no signal of the program's,
 * its name is ours, and what the C library allocates for it is never the program's.
 *
 * It is a pthread, so that setuid and its family reach it.  So the process does not end
 * while the thread is there: it has to look, each 100 ms at most, whether it is alone,
 * and return.
 *
 * Threads  one starter at a time for each struct own_thread.
 * Memory   a stack per struct own_thread, kept for its next thread.
 * Errors   0 or -errno.
 * Units    OS thread ids.
 */
#ifndef BASE_OWN_THREAD_H
#define BASE_OWN_THREAD_H

#include <stdbool.h>
#include <stdint.h>

enum own_thread_files {
	OWN_THREAD_NONE, /* it opens nothing, and may be the last to leave the process */
	OWN_THREAD_FILES /* it has a descriptor table of its own; never the last */
};

struct own_thread { /* static, zeroed */
	void *(*run)(void *);
	enum own_thread_files files;
	uint64_t mask; /* signal mask of the thread that started it */
	char *stack;
	_Atomic uint32_t last; /* tid that runs on the stack, or ran; 0 = none */
	_Atomic uint32_t before; /* tid before that, if it may not have gone yet */
	_Atomic int64_t ended_ns, before_ns; /* when those two ended; 0 = not yet */
	_Atomic uint32_t table; /* the descriptor table: made, or errno; 0 = not yet */
};

/* Is the calling thread one of ours? */
extern __thread bool own_thread_mine __attribute__((tls_model("initial-exec")));
/* Detached; run(NULL) is called in it. With OWN_THREAD_FILES the call returns when the
 * thread has its table; where none can be had that is the error, and nothing is run. */
int own_thread_start(struct own_thread *t, void *(*run)(void *));
bool own_thread_gone(uint32_t tid); /* has it gone, also in the kernel's view? */
/* Has every thread of `t` that began gone, as the kernel sees it? */
bool own_thread_left(struct own_thread *t);
/* Are only threads of ours left, and perhaps the first one's remains? Where /proc does
 * not tell it is true once the first one has ended: then nobody must stay. Opens nothing.
 */
bool own_thread_alone(void);
/* Threads that are not ours. Where /proc does not tell it is 1 as long as the C library
 * says that there is no other, and else 2: as if there were others. */
unsigned own_thread_others(void);
/* Once, by the first thread, while no other one loads or unloads objects. */
void own_thread_look(void);
/* All of our threads are gone in a fork child; by its thread. */
void own_thread_forget(void);

#endif
