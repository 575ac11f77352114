/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command - runs on_trace's command for a finished file.
 *
 * The program must not notice: the shell is nobody's child that wait() could give
 * to the program, no SIGCHLD is sent, and the program's stdout is not written to.
 *
 * Threads  one at a time; all signals blocked.
 * Memory   static: the environment as it was at the start.
 * Errors   one line when the shell cannot be started.
 * Units    none.
 */
#ifndef WRITER_COMMAND_H
#define WRITER_COMMAND_H

/* Keeps a copy of `env` without LD_PRELOAD and PROF_*. */
void command_start(char *const *env);
/* /bin/sh -c with {} replaced by the quoted path (put behind it when there is none). */
void command_run(const char *command, const char *path);

#endif
