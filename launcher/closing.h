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

#include "base/tally.h"
#include "config/aside.h"
#include "config/config.h"
#include "launcher/summary.h"

struct closing {
	const struct config *config; /* logdir absolute */
	const struct totals *totals;
	uint32_t aside[ASIDE_KINDS]; /* programs that were not profiled, by enum aside */
	const struct tally *programs; /* programs with the agent, by starts */
	uint32_t unrecorded; /* processes without a place for records */
	uint32_t confined; /* ... which a program forked after seccomp */
	bool mute_torch; /* a PyTorch that cannot be observed was loaded */
	uint32_t inner; /* launchers with jobs of their own */
	const char *spool_dir; /* the job's folder */
	double seconds; /* how long the program ran */
	uint64_t finisher_ns; /* processor time of the finishers, so far */
	int64_t waited_ns; /* from the command's end to these lines */
	const struct summary *summary; /* of `bottleneck`; NULL = another run */
};

/* Says all lines, on stderr. `c` is only read. */
void closing_say(const struct closing *c);

#endif
