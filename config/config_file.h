/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file - profile.conf and the environment, in the right order.
 *
 * Threads  one at a time.
 * Memory   a map that lives for one call.
 * Errors   bad(where, why) for each thing that is wrong ("profile.conf:7"); what
 *          is right counts nevertheless.
 * Units    none.
 */
#ifndef CONFIG_CONFIG_FILE_H
#define CONFIG_CONFIG_FILE_H

#include "config/config.h"

typedef void (*config_bad_fn)(const char *where, const char *why, void *arg);

/*
 * Defaults, then the file `path` (NULL or "": $PROF_CONFIG, then ./profile.conf if
 * it is there), then PROF_* of `env`. Below a launcher (PROF_JOB is set) no file
 * is read: the launcher has read it and put everything into the environment.
 * ./profile.conf is ignored whole, with a line, when another user may have written it: it
 * and its directory must be ours or root's and nobody else's to write, and it no link.
 * Nothing is read at all in a program with raised privileges (AT_SECURE).
 * All of `c` is zero before.
 */
void config_load(struct config *c, const char *path, char *const *env, config_bad_fn bad,
		 void *arg);
/* The value of NAME in `env`, or NULL. */
const char *config_getenv(char *const *env, const char *name);

#endif
