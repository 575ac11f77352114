/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say - the launcher's lines on stderr; stdout belongs to the program.
 *
 * Threads  one.
 * Memory   a stack buffer; a line is one write, as far as a pipe takes it whole.
 * Errors   none: when stderr is gone there is nobody to tell.
 * Units    none.
 */
#ifndef LAUNCHER_SAY_H
#define LAUNCHER_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern bool say_quiet; /* -q: notes are dropped, warnings stay */

void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As it is. Where nobody reads, and there is no room left, it is lost: 100 ms are waited
 * for that in a life. */
void say_text(const char *text, size_t size);
/* "12,345" and "1 step", "2 steps"; each from a ring of buffers (say.c). */
const char *say_number(uint64_t n);
const char *say_count(uint64_t n, const char *noun);
/* A path as one can paste it into a shell; from a ring of two. */
const char *say_path(const char *path);

#endif
