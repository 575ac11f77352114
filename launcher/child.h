/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child - the program: started, signalled, waited for.
 *
 * Threads  one.
 * Memory   none.
 * Errors   -errno when no process could be made; a failing exec is status 126/127.
 * Units    none.
 */
#ifndef LAUNCHER_CHILD_H
#define LAUNCHER_CHILD_H

#include <stdbool.h>

/* Runs `path` with argv and `env`; its wait status goes to *status. `text`: /bin/sh
 * reads it when the kernel does not know what it is. The program has our own
 * descriptors, signal mask and dispositions, as if exec'd by whoever started us. */
int child_run(const char *path, bool text, char **argv, char *const *env, int *status);
/* Ends this process as the program ended: same status, or same signal. */
void child_mimic(int status) __attribute__((noreturn));

#endif
