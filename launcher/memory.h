/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory - `proflaunch memory`: tables, leaks and timelines of trace files.
 *
 * Threads  one.
 * Memory   freed before it returns.
 * Errors   exit status: 0; 1 leaks were found; 2 wrong options, no trace, or it cannot
 * say. Units    none.
 */
#ifndef LAUNCHER_MEMORY_H
#define LAUNCHER_MEMORY_H

/* argv: what follows the word "memory", NULL at its end. */
int memory_main(char **argv);

#endif
