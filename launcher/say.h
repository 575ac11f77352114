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
/* Writes text as it is. Text is lost where nobody reads and no room is left: the launcher
 * waits 100 ms for room in its life. */
void say_text(const char *text, size_t size);
/* "12,345" and "1 step", "2 steps"; each from a ring of buffers (say.c). */
const char *say_number(uint64_t n);
const char *say_count(uint64_t n, const char *noun);
/* A path that can be pasted into a shell; from a ring of two buffers. */
const char *say_path(const char *path);

#endif
