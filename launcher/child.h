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

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child_command {
	const char *path;
	char **argv;
	char **env; /* rows with the launcher's pid get the command's */
	bool text; /* /bin/sh reads the file when the kernel does not know it */
	bool outlive; /* the command lives on when the launcher is killed */
};

/* What the launcher does besides waiting for the command; each member may be NULL. Called
 * while the signals to be handed on are blocked. */
struct child_others {
	/* Another child than the command has ended: the launcher's, or, for process 1, an
	 * orphan. */
	void (*ended)(pid_t pid, int status);
	/* Called at first and after each wake-up. Returns ns to the next call; 0 and
	 * less, and INT64_MAX: to the next event. */
	int64_t (*tick)(void);
	/* Called when the command runs. */
	void (*started)(void);
};

/* Runs the command; its wait status goes to *status. The command has the launcher's own
 * descriptors, signal mask and dispositions, as if the caller had exec'd it. SIGKILL to
 * the launcher takes the command along, as far as the kernel does that: it does not reach
 * a setuid program, one that changed its user, or the command's own children. Every child
 * that ends is reaped. */
int child_run(const struct child_command *c, const struct child_others *others,
	      int *status);
/* Ends this process as the program ended: same status, or same signal. */
void child_mimic(int status) __attribute__((noreturn));

#endif
