/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roomy - a call on a stack of our own: the program's may be a page (a coroutine's, a
 * signal handler's), and what we do once in a process's life needs more.
 *
 * Threads  any.
 * Memory   128 KiB, mapped for the time of the call.
 * Errors   without that memory fn runs where it is.
 * Units    none.
 */
#ifndef BASE_ROOMY_H
#define BASE_ROOMY_H

/* Calls fn(arg) once, in this thread. fn returns, and is not left by longjmp or an
 * exception; errno is what fn left. */
void roomy_call(void (*fn)(void *arg), void *arg);

#endif
