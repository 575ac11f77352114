/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe - runs a program under the agent and reads its records; for doctor.
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
	bool silent; /* it was killed, for it did not end in time */
	bool homeless; /* there is no folder for the run's files */
	char out[16384]; /* stdout and stderr, cut */
	bool mute_torch; /* it loaded a PyTorch that cannot be observed */
	bool spooled; /* the agent found libtorch and made a spool */
	char facts[SPOOL_FACTS]; /* the facts in that spool */
	uint64_t events; /* operators recorded */
};

/* Asks what the loader would map for `image` with the agent; runs none of its code. */
int probe_loader(struct probe *p, const char *image, const char *agent);
/* Runs argv under the agent, all of it one window, with all files in a directory that is
 * removed again, below TMPDIR, /tmp or /dev/shm. It is killed after `seconds`, with what
 * it has started. */
int probe_run(struct probe *p, char *const *argv, const char *agent, unsigned seconds);
/* Runs argv as it is; true: it dies or hangs, so that the agent need not be to blame. */
bool probe_fails_bare(char *const *argv, unsigned seconds);

#endif
