/* SPDX-License-Identifier: Apache-2.0 */
/*
 * absent - says what was asked for and is missing: a GPU, a function that ends steps.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none: lines on stderr.
 * Units    none.
 */
#ifndef LAUNCHER_ABSENT_H
#define LAUNCHER_ABSENT_H

#include "launcher/closing.h"

/* true: a line tells why nothing was recorded, and no other is needed. */
bool absent_say(const struct closing *c);

#endif
