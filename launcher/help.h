/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help - all texts about options, from the one table.
 *
 * Threads  one.
 * Memory   none.
 * Errors   0, or 2 for a page that is not there.
 * Units    none.
 */
#ifndef LAUNCHER_HELP_H
#define LAUNCHER_HELP_H

#include "config/config.h"

void help_usage(void); /* a few lines, on stderr */
void help_print(void);
/* Prints the commented profile.conf.example. */
void help_print_config(void);
/* man.c: prints one of these in man(7) format. Returns 2 for another name. */
#define HELP_PAGES(between)                                         \
	"proflaunch.1" between "proflaunch-recover.1" between       \
	"proflaunch-report.1" between "proflaunch-diff.1" between   \
	"proflaunch-gate.1" between "proflaunch-ranks.1" between    \
	"proflaunch-memory.1" between "proflaunch-export.1" between \
	"proflaunch-doctor.1" between "proflaunch-bottleneck.1" between "profile.conf.5"
int man_print(const char *page);

#endif
