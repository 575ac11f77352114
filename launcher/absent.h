/* SPDX-License-Identifier: Apache-2.0 */
/*
 * absent - what was asked for and was not there: the GPU alone, a function that ends
 * steps.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none: lines on stderr.
 * Units    none.
 */
#ifndef LAUNCHER_ABSENT_H
#define LAUNCHER_ABSENT_H

#include "launcher/closing.h"

/* true: why nothing was recorded needs no other word. */
bool absent_say(const struct closing *c);

#endif
