/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group - was a signal sent to the launcher's process group, or to the launcher alone?
 *
 * siginfo does not say: kill(pid) and kill(-group) look the same to the receiver, and the
 * command, in the launcher's group, has had the latter already.  A witness tells: a child
 * that does nothing but stand in the group, with all signals blocked.  No other way is
 * sure. To look at the sender's group, as sudo does, takes a script's `kill $!` for a
 * signal to the group.  A group of its own would put the launcher, the shell's job, into
 * the background; and a group's leader cannot leave it.
 *
 * Threads  one.
 * Memory   a page that the witness shares.
 * Errors   GROUP_UNKNOWN where there is no witness.
 * Units    ns.
 */
#ifndef LAUNCHER_GROUP_H
#define LAUNCHER_GROUP_H

#include <sys/types.h>

enum group_answer { GROUP_NO, GROUP_YES, GROUP_UNKNOWN };

/* Forks the witness: call it when the command is there, in the same process group.
 * Without memory or processes there is none. */
void group_start(void);
/* The launcher has just got `sig`: has the group got it, too? */
enum group_answer group_got(int sig);
/* Notes the end of a child, which may be the witness. */
void group_ended(pid_t pid);
/* Ends the witness and waits for it. May be called twice, and without a start. */
void group_end(void);

#endif
