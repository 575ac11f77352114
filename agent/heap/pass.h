/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass - what a malloc and its free cost that leave no record behind: they are too short
 * for the clock, and there are too many to time.
 *
 * Threads  heap_pass_cost: the thread that opens a window.
 * Memory   none.
 * Errors   none.
 * Units    ticks.
 */
#ifndef HEAP_PASS_H
#define HEAP_PASS_H

#include "agent/core/cycle_info.h"

/* For HEAP_COUNT and HEAP_SAMPLE; the writer multiplies it by the calls. */
void heap_pass_cost(struct cycle_info *info);

#endif
