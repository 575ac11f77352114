/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident - does resident memory grow where the heap does not?
 *
 * Threads  one at a time.
 * Memory   8 kB of its own, static.
 * Errors   none: without counters of resident memory, or with few steps, there is no
 *          line.
 * Units    bytes a step.
 */
#ifndef REPORT_MEMORY_RESIDENT_H
#define REPORT_MEMORY_RESIDENT_H

#include "report/memory/memory.h"

/* Judges the last n steps. Prints a line and returns 1, or returns 0. */
unsigned resident_print(const struct memory_view *v, const struct leak_options *o,
			size_t n, FILE *out);
/* Prints the process's size as the kernel sees it, where counters noted that. */
void resident_print_most(const struct model *m, FILE *out);

#endif
