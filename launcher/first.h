/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first - the command's first word: which program of this machine it means.
 *
 * Threads  one.
 * Memory   the command it makes stays until the process ends.
 * Errors   an exit status: 0; 2 the options are wrong; 126 and 127 as a shell would
 *          say. Its line has been said then.
 * Units    none.
 */
#ifndef LAUNCHER_FIRST_H
#define LAUNCHER_FIRST_H

#include "launcher/args.h"
#include "launcher/target.h"

/* Fills `t`. Behind "--" a->command is looked up as execvp does it. Without it the word
 * may also be a file of this directory, and a .py file that the kernel would not run
 * makes a->command begin with python3. */
int first_find(struct args *a, struct target *t);

#endif
