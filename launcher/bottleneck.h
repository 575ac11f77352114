/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bottleneck - the options of a run whose tables `proflaunch bottleneck` shows.
 *
 * Threads  one.
 * Memory   none.
 * Errors   complaints, by the caller's function.
 * Units    rows.
 */
#ifndef LAUNCHER_BOTTLENECK_H
#define LAUNCHER_BOTTLENECK_H

#include "config/config.h"

#include <stddef.h>

#define BOTTLENECK_ROWS 15 /* as torch.utils.bottleneck has */

/* Sets what the tables need, over file and environment: these mean runs of another
 * kind. */
void bottleneck_set(struct config *c);
/* Judges what the command line made of it, and lets steps be counted where it has a
 * schedule. */
void bottleneck_judge(struct config *c,
		      void (*complain)(const char *where, const char *why, void *arg),
		      void *arg);
/* The number of --limit; 0: it is none. */
size_t bottleneck_rows(const char *value);

#endif
