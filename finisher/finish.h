/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish - the process that makes a job's files while its processes run.
 *
 * A child of the launcher, in a session of its own, that may die at any time: what must
 * outlive it lies in struct shared and in the spools.  It ends when nothing is left to
 * be done, with the job's folder if that is empty.
 *
 * Threads  two: one watches spools and processes, the other one writes files.
 * Memory   its own; one window of one spool at a time.
 * Errors   lines to its stderr, which the launcher passes on.
 * Units    none.
 */
#ifndef FINISHER_FINISH_H
#define FINISHER_FINISH_H

#include "config/config.h"
#include "finisher/shared.h"

#include <sys/types.h>

struct finish {
	const struct config *config; /* logdir absolute */
	const char *dir, *page; /* the job's folder, and its page there */
	const char *job; /* its id */
	struct shared *shared;
	pid_t launcher;
	int lines; /* the finisher's stderr: a pipe */
	int traces; /* a pipe for paths of files that on_trace is run for; -1: none */
	const char *cwd; /* where on_trace's command runs */
	int spools; /* a socket for spools in memory, with their numbers; -1: none */
	const int *held; /* spools in memory that the launcher has already; -1 = none */
	size_t held_n;
};

/* The finisher's whole life, from right after the launcher's fork; `f` and all that it
 * points to must stay as they are. */
_Noreturn void finish_main(const struct finish *f);

#endif
