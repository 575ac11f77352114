/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say - the launcher's lines on stderr; stdout belongs to the program.
 *
 * Threads  one.
 * Memory   a stack buffer; a line is one write.
 * Errors   none: when stderr is gone there is nobody to tell.
 * Units    none.
 */
#ifndef LAUNCHER_SAY_H
#define LAUNCHER_SAY_H

#include <stdbool.h>
#include <stdint.h>

extern bool say_quiet; /* -q: notes are dropped, warnings stay */

void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "12,345" and "1 step", "2 steps"; each from a ring of eight buffers. */
const char *say_number(uint64_t n);
const char *say_count(uint64_t n, const char *noun);

#endif
