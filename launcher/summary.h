/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary - what `proflaunch bottleneck` shows when the command has ended.
 *
 * Threads  one; another process reads the trace.
 * Memory   none to give back.
 * Errors   a line says why there are no tables.
 * Units    rows.
 */
#ifndef LAUNCHER_SUMMARY_H
#define LAUNCHER_SUMMARY_H

#include "finisher/totals.h"
#include "launcher/args.h"

struct summary {
	const struct config *config;
	char **command;
	size_t rows; /* of each table */
	int64_t since; /* when the command began, in ns since 1970 */
};

/* Writes the tables to stderr. */
void summary_say(const struct summary *s, const struct totals *totals);

#endif
