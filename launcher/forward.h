/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward - who is meant by a signal that we got: the command, or whoever started us.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none: who is meant may have gone.
 * Units    none.
 */
#ifndef LAUNCHER_FORWARD_H
#define LAUNCHER_FORWARD_H

#include <signal.h>
#include <sys/types.h>

/* Before the command is there: who is our parent now is meant by its signals to us. */
void forward_start(void);
/* Hands it on, once, if the command has not had it already. */
void forward_signal(pid_t command, const siginfo_t *info);

#endif
