/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orders - what the scheduler tells the consumer: which window begins, and which ends.
 *
 * Threads  the scheduler's under its lock, stores only; the consumer; where said any.
 * Memory   static; an info is its window's until cuda_state says otherwise.
 * Errors   a window that finds no room is settled at once, and counted (CUDA_CROWDED).
 * Units    none.
 */
#ifndef CUPTI_FLOW_ORDERS_H
#define CUPTI_FLOW_ORDERS_H

#include "agent/core/cycle_info.h"

#include <stdbool.h>

enum order { ORDER_OPENED, ORDER_SEALED, ORDER_THROWN };

void orders_opened(struct cycle_info *info);
void orders_sealed(struct cycle_info *info, bool kept);
bool orders_standing(void); /* a window is open that no consumer has seen. Any thread. */
void orders_live(void); /* from here on a consumer will look. Any thread. */
bool orders_left(void); /* has orders_next more to give? Any thread. */
/* The next order, oldest first; NULL: that was the last. The consumer. */
struct cycle_info *orders_next(enum order *what);
void orders_fork_child(void);

#endif
