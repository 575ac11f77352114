/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherit - what exec keeps and fork does not: without us the command would have it.
 *
 * Threads  one.
 * Memory   static.
 * Errors   none: what cannot be given is not there.
 * Units    none.
 */
#ifndef LAUNCHER_INHERIT_H
#define LAUNCHER_INHERIT_H

/* Reads in this process what the command is to have (scheduling that a fork resets,
 * being a subreaper, variables of `env` that hold our pid), and stops its timers,
 * which would end us. */
void inherit_take(char **env);
/* In the command's process, whose memory may be ours still. */
void inherit_give(void);

#endif
