/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover - `proflaunch recover D`: finishes the traces that killed programs left.
 *
 * Threads  one.
 * Memory   none.
 * Errors   exit status: 0 nothing is left to do, 1 something could not be finished.
 * Units    none.
 */
#ifndef LAUNCHER_RECOVER_RECOVER_H
#define LAUNCHER_RECOVER_RECOVER_H

#include "launcher/args.h"

/* a->operand are log directories, folders of jobs and traces; without any the configured
 * log directory. Paths of files made go to stdout, complaints to stderr. */
int recover_main(struct args *a);

#endif
