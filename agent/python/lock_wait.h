/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_wait - waits for the interpreter's lock (the GIL).
 *
 * A thread that wants it and finds it taken waits for a condition, in rounds of the
 * switch interval, by pthread_cond_timedwait; nothing else in the interpreter calls that,
 * as its other locks are semaphores. The pointer by which the interpreter calls it is
 * exchanged once, for good: outside of windows that is a load and a jump for a thread
 * that is about to wait. One that gets the lock at once does not come by.
 *
 * Threads  lock_wait_start: one that may take the dynamic linker's lock; once. Whoever
 *          waits does not have the lock, and nothing of the interpreter's is touched.
 * Memory   thread-local.
 * Errors   text that says why there are none.
 * Units    ticks.
 */
#ifndef PYTHON_LOCK_WAIT_H
#define PYTHON_LOCK_WAIT_H

const char *lock_wait_start(void);
void lock_wait_fork_child(void);

#endif
