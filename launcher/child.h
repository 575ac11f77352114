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

/* Runs argv with `env`; its wait status goes to *status. The program has our own
 * descriptors, signal mask and dispositions, as if exec'd by whoever started us. */
int child_run(char *const *argv, char *const *env, int *status);
/* Ends this process as the program ended: same status, or same signal. */
void child_mimic(int status) __attribute__((noreturn));

#endif
