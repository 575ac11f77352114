/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict - the lines of doctor: what is well, what is off, what is worth knowing.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none.
 * Units    none.
 */
#ifndef LAUNCHER_VERDICT_H
#define LAUNCHER_VERDICT_H

#include <stdbool.h>

extern bool verdict_off; /* verdict_bad was called */

void verdict_good(const char *format, ...) __attribute__((format(printf, 1, 2)));
void verdict_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void verdict_bad(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
