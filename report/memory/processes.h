/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes - the memory view of a file whose rows are whole processes.
 *
 * Threads  one at a time.
 * Memory   56 bytes a process, while it is printed.
 * Errors   false: the file has none, or could not be read.
 * Units    bytes, nanoseconds.
 */
#ifndef REPORT_MEMORY_PROCESSES_H
#define REPORT_MEMORY_PROCESSES_H

#include <stdbool.h>
#include <stdio.h>

/* Prints the processes by their peak, the `top` largest; as JSON all of them. */
bool processes_print(const char *path, unsigned top, bool json, FILE *out);

/* Are the file's rows processes? */
bool processes_is(const char *path);

#endif
