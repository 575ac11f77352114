/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward - hands on a signal that the launcher got: to the command, or to its caller.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none: the process that is meant may have gone.
 * Units    none.
 */
#ifndef LAUNCHER_FORWARD_H
#define LAUNCHER_FORWARD_H

#include <signal.h>
#include <sys/types.h>

/* Notes the launcher's parent, before the command is there: signals of the command's
 * family to the launcher are meant for that parent. */
void forward_start(void);
/* Hands a signal on, once, unless the command has had it already. */
void forward_signal(pid_t command, const siginfo_t *info);

#endif
