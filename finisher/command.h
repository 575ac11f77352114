/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command - runs on_trace's command for a finished file, at most once, and tells how it
 * ended.
 *
 * A mark beside the file, ".<name>.on_trace", is made before the command starts, and goes
 * again where it could not be started: who finds the mark does nothing.  It holds the
 * file's trace_id: that of a file which is gone does not count for the next one of its
 * name.  The command is
 * words, and no shell reads them unless one of its characters is there; each {} is the
 * path.  It has the caller's directory and environment without what is ours, an empty
 * stdin, stderr for both outputs, and a process group of its own.
 *
 * Threads  one at a time.
 * Memory   static: the environment and directory as they were at the start.
 * Errors   a line for each; those behind the first few are counted.
 * Units    none.
 */
#ifndef FINISHER_COMMAND_H
#define FINISHER_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#define COMMAND_MOST 4 /* that run at a time; no more than there are processors */

/* `dir` NULL: where the process is. */
void command_start(char *const *env, const char *dir);
/* May another one start? */
bool command_ready(void);
/* Not where none may start. */
void command_run(const char *command, const char *path);
/* False: that is no child of command_run. */
bool command_ended(pid_t pid, int status);
unsigned command_running(void);
/* Waits until all have ended; false: one could not be started, or did not end with 0. */
bool command_wait(void);
/* Says how many more were told of in no line; once. */
void command_sum(void);
/* Was it run for that file, or is it being run? */
bool command_marked(const char *path);

#endif
