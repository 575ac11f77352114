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

#include "agent/core/config.h"

void help_print(void);
/* The commented profile.conf.example. */
void help_print_config(void);
/* man.c: "proflaunch.1" or "profile.conf.5" in man(7) format. */
int help_print_man(const char *page);

#endif
