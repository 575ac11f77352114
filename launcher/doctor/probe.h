/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe - run something under the agent and see what came of it; for doctor.
 *
 * Threads  one.
 * Memory   inside the struct.
 * Errors   -errno when nothing could be run.
 * Units    none.
 */
#ifndef LAUNCHER_DOCTOR_PROBE_H
#define LAUNCHER_DOCTOR_PROBE_H

#include "agent/core/spool.h"

struct probe {
	int status; /* wait status */
	char out[16384]; /* stdout and stderr, cut */
	bool spooled; /* the agent found libtorch and made a spool */
	char facts[SPOOL_FACTS]; /* what it said there */
	uint64_t events; /* operators recorded */
};

/* What the loader would map for `image` with the agent; runs none of its code. */
int probe_loader(struct probe *p, const char *image, const char *agent);
/* Runs argv under the agent, all of it one window, with everything in a directory
 * that is removed again. */
int probe_run(struct probe *p, char *const *argv, const char *agent);

#endif
