/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ready - finished files for which on_trace's command is still to be run.
 *
 * Paths go to the launcher through a pipe, as far as there is room.  Where the launcher
 * has gone nobody knows which of them it has read: then all are looked at again, and the
 * marks tell (command.h).
 *
 * Threads  any adds and sends; one does the rest.
 * Memory   its own: all paths of the job.
 * Errors   a line, once: a file that is not remembered is left without a mark.
 * Units    files.
 */
#ifndef FINISHER_READY_H
#define FINISHER_READY_H

#include <sys/types.h>

void ready_add(const char *path);
/* Sends as many as the pipe has room for; SIGCHLD wakes the launcher. */
void ready_send(int pipe, pid_t launcher);
/* Starts the command for as many files as may run at a time. */
void ready_run(const char *command);
unsigned ready_left(void);
/* The launcher goes: the finisher runs the command for all files, and sends none any
 * more. */
void ready_again(void);

#endif
