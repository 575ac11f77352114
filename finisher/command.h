/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command - runs on_trace's command for a finished file, at most once, and tells how it
 * ended.
 *
 * A mark beside the file, ".<name>.on_trace", is made before the command starts, and goes
 * again where it could not be started: whoever finds the mark does nothing.  The mark
 * holds the file's trace_id: so the mark of a file that is gone does not count for the
 * next file of its name.  The command is words, and no shell reads them unless one of its
 * characters is there; each {} is the path.  It has the caller's directory and
 * environment without what is ours, an empty stdin, stderr for both outputs, and a
 * process group of its own.
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

#define COMMAND_MOST 4 /* commands at a time, no more than processors */

/* Keeps the environment and directory for commands; `dir` NULL: the current directory. */
void command_start(char *const *env, const char *dir);
/* May another command start? */
bool command_ready(void);
/* Starts the command for a file; does nothing where no more may start. */
void command_run(const char *command, const char *path);
/* Notes the end of a child. False: the child is none of command_run's. */
bool command_ended(pid_t pid, int status);
unsigned command_running(void);
/* Waits until all commands have ended; false: one could not be started, or did not end
 * with 0. */
bool command_wait(void);
/* Logs how many failures had no line of their own; each counts once. */
void command_sum(void);
/* Was the command run for that file, or is it being run? */
bool command_marked(const char *path);

#endif
