/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closing - the lines after the program: what was written, or why nothing was.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none.
 * Units    none.
 */
#ifndef LAUNCHER_CLOSING_H
#define LAUNCHER_CLOSING_H

#include "agent/core/config.h"
#include "launcher/sweep.h"

struct closing {
	const struct config *config; /* logdir absolute */
	const struct sweep *sweep;
	bool started; /* a process of the job was about to record */
	const char *spool_dir;
	double seconds; /* how long the program ran */
};

void closing_say(const struct closing *c);

#endif
