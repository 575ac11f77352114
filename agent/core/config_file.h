/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file - reads profile.conf, and says who is believed.
 *
 * Threads  one at a time.
 * Memory   one static buffer of 64 KiB: longer files are cut, with a line.
 * Errors   each bad line goes to bad(); 0, or -errno when a named file cannot be read.
 * Units    lines count from 1.
 */
#ifndef CORE_CONFIG_FILE_H
#define CORE_CONFIG_FILE_H

#include "agent/core/config.h"

/* `path` NULL: $PROF_CONFIG was not given, so ./profile.conf if it is there; from
 * that one, logdir, spool and on_trace count only when nobody else can write it.
 * bad(path, line, key or NULL, why): line 0 is about the file itself. */
typedef void (*config_file_bad_fn)(const char *path, unsigned line, const char *key,
				   const char *why, void *arg);
int config_file_read(struct config *c, const char *path, config_file_bad_fn bad, void *arg);

/* The agent's way of telling: one warning, then on with the default. */
void config_file_warn(const char *path, unsigned line, const char *key, const char *why,
		      void *arg);
void config_env_warn(const char *name, const char *why, void *arg);

#endif
