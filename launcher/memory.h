/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory - `proflaunch memory`: tables, leaks and timelines of trace files.
 *
 * Threads  one.
 * Memory   freed before it returns.
 * Errors   exit status: 0; 1 leaks were found; 2 wrong options, no trace, or the trace
 *          cannot say.
 * Units    none.
 */
#ifndef LAUNCHER_MEMORY_H
#define LAUNCHER_MEMORY_H

/* argv: the words behind "memory", NULL at the end. */
int memory_main(char **argv);

#endif
