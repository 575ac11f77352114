/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict - the lines of doctor: what is well, what is off, what is worth knowing.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none.
 * Units    none.
 */
#ifndef LAUNCHER_DOCTOR_VERDICT_H
#define LAUNCHER_DOCTOR_VERDICT_H

#include <stdbool.h>

extern bool verdict_off; /* verdict_bad was called */

enum verdict { VERDICT_GOOD, VERDICT_NOTE, VERDICT_BAD };

/* Prints one line on stdout, at once. */
void verdict_say(enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#define verdict_good(...) verdict_say(VERDICT_GOOD, __VA_ARGS__)
#define verdict_note(...) verdict_say(VERDICT_NOTE, __VA_ARGS__)
#define verdict_bad(...)  verdict_say(VERDICT_BAD, __VA_ARGS__)

#endif
