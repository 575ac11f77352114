/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherit - gives the command what exec keeps and fork does not: without the launcher it
 * would have that.
 *
 * Threads  one.
 * Memory   static.
 * Errors   none: a thing that cannot be given is left out.
 * Units    none.
 */
#ifndef LAUNCHER_INHERIT_H
#define LAUNCHER_INHERIT_H

/* Reads in the launcher what the command is to have (scheduling that a fork resets, being
 * a subreaper, variables of `env` that hold the launcher's pid), and stops the launcher's
 * timers, which would end it. */
void inherit_take(char **env);
/* Gives it in the command's process, which may still share the launcher's memory. */
void inherit_give(void);

#endif
