/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glance - what the trace says, behind the lines of a run's end: three lines of it where
 * somebody looks, or all of the report where --report asks for it.
 *
 * A process of its own reads the file: a file that cannot be read, or not in time, costs
 * the launcher nothing but the wait.
 *
 * Threads  one; the process has no other.
 * Memory   of fixed size; the reader's ends with its process.
 * Errors   none: then there are no lines.
 * Units    none.
 */
#ifndef LAUNCHER_GLANCE_H
#define LAUNCHER_GLANCE_H

#include <stdbool.h>
#include <stdio.h>

#define GLANCE_MS 500

/* Says three lines of the newest run's file, or of `place` if that is a file, unless that
 * takes longer than GLANCE_MS. */
void glance_say(const char *place);
/* Writes the whole report to stderr, however long that takes. False: there is none. */
bool glance_report(const char *place);
/* Lets a process of its own print `what` to stderr, and waits for it. `terminal`: its
 * descriptor, or -1. False: that process failed. */
typedef bool glance_print_fn(FILE *out, int terminal, const void *what);
bool glance_apart(glance_print_fn *print, const void *what);

#endif
