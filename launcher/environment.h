/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment - the rows of the program's environment that are for the agent.
 *
 * Threads  one.
 * Memory   allocated, never freed: one per run.
 * Errors   NULL when memory is short.
 * Units    none.
 */
#ifndef LAUNCHER_ENVIRONMENT_H
#define LAUNCHER_ENVIRONMENT_H

#include "config/config.h"

/* `env` plus every option that differs from its default as PROF_*, PROF_JOB, and the
 * agent first in LD_PRELOAD. */
char **environment_make(char *const *env, const struct config *c, const char *agent,
			const char *job);

#endif
