/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen - files that we read in the middle of the program, without a descriptor that the
 * program could meet.
 *
 * fn(arg) runs in a short-lived task of our process with a copy of the descriptor table,
 * and the caller waits for it.  fn makes system calls alone.  Where no such task can be
 * had (a limit, valgrind, unseen_never) fn runs in the caller.
 *
 * Threads  any.
 * Memory   a stack is mapped for the time of the call.
 * Errors   fn's result.
 * Units    bytes.
 */
#ifndef BASE_UNSEEN_H
#define BASE_UNSEEN_H

#include <stddef.h>
#include <sys/types.h>

int unseen_run(int (*fn)(void *), void *arg);
/* The same for what must not run in the caller's own table: -EAGAIN instead. */
int unseen_only(int (*fn)(void *), void *arg);
/* From here on no such task is made: its end closes copies of descriptors, and the
 * program would notice that. */
void unseen_never(void);
ssize_t unseen_read(const char *path, char *buf, size_t size); /* as sys_read_file */

#endif
