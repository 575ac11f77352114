/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run - a program under the agent, from its start to the closing lines.
 *
 * Threads  one.
 * Memory   none to give back.
 * Errors   a thing that the user cannot mend gives one line: the program runs all the
 *          same.
 * Units    none.
 */
#ifndef LAUNCHER_RUN_H
#define LAUNCHER_RUN_H

#include "launcher/args.h"

/* Runs a->command with `env`. Returns only where the command was not started (a
 * shell's 126 or 127); else the process ends as the command did. */
int run_main(struct args *a, char **env);
/* Makes c->logdir absolute. 0 or -errno. */
int run_absolute(struct config *c);

#endif
