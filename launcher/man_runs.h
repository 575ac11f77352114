/* SPDX-License-Identifier: Apache-2.0 */
/*
 * man_runs - the manual pages of report, diff, gate and ranks, on stdout.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none.
 * Units    none.
 */
#ifndef LAUNCHER_MAN_RUNS_H
#define LAUNCHER_MAN_RUNS_H

void man_runs_report(void);
void man_runs_diff(void);
void man_runs_gate(void);
void man_runs_ranks(void);

#endif
