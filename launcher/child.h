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
	char **env; /* what names our pid there will name the command's */
	bool text; /* /bin/sh reads it when the kernel does not know what it is */
	bool outlive; /* it lives on when we are killed */
};

/* Whoever has other children, or something to do meanwhile; each member may be NULL.
 * Called with the signals blocked that we hand on. */
struct child_others {
	/* Another process than the command has ended: ours, or, for process 1, an orphan.
	 */
	void (*ended)(pid_t pid, int status);
	/* At first and after each wake-up. Returns in how many ns it wants to be called
	 * again; 0 and less, and INT64_MAX: when something happens. */
	int64_t (*tick)(void);
	/* The command runs. */
	void (*started)(void);
};

/* Runs the command; its wait status goes to *status. It has our own descriptors, signal
 * mask and dispositions, as if exec'd by whoever started us. Killed by SIGKILL we take
 * it along, as far as the kernel does that: a setuid program, one that changed its user,
 * and the command's own children are not reached. Every child that ends is reaped. */
int child_run(const struct child_command *c, const struct child_others *others,
	      int *status);
/* Ends this process as the program ended: same status, or same signal. */
void child_mimic(int status) __attribute__((noreturn));

#endif
