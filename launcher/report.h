/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report - `proflaunch report`: where the time of a trace went, and what to fix first.
 *
 * Threads  one.
 * Memory   freed before it returns.
 * Errors   exit status: 0; 2 wrong options, no trace, or nothing to report.
 * Units    none.
 */
#ifndef LAUNCHER_REPORT_H
#define LAUNCHER_REPORT_H

/* argv: the words behind "report", NULL at the end. `logdir`: where a trace is looked for
 * when none is named; NULL = where the environment or profile.conf says. */
int report_main(char **argv, const char *logdir);

#endif
