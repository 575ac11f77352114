/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor - `proflaunch doctor -- command`: would profiling work, and if not, why.
 *
 * Threads  one.
 * Memory   none.
 * Errors   exit status: 0 all is well, 1 something is off (each with what to do).
 * Units    none.
 */
#ifndef LAUNCHER_DOCTOR_DOCTOR_H
#define LAUNCHER_DOCTOR_DOCTOR_H

#include "launcher/args.h"

/* a->command is the command asked about; it is not run itself. The verdicts go to
 * stdout. */
int doctor_main(struct args *a);

#endif
