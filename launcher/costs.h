/* SPDX-License-Identifier: Apache-2.0 */
/*
 * costs - what a run paid for being profiled, as the closing words say it.
 *
 * Threads  one.
 * Memory   the caller's.
 * Errors   an empty text where nothing was measured.
 * Units    none.
 */
#ifndef LAUNCHER_COSTS_H
#define LAUNCHER_COSTS_H

#include "launcher/closing.h"

/* The text is put behind a list: it begins with a comma. */
void costs_text(const struct closing *c, char *text, size_t size);
/* "520 ms", "1.2 s". Returns `text`. */
#define COSTS_TIME 32
const char *costs_time(char text[COSTS_TIME], double ns);

#endif
