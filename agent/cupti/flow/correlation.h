/* SPDX-License-Identifier: Apache-2.0 */
/*
 * correlation - which call a piece of GPU work belongs to, and so which window.
 *
 * Threads  the consumer.
 * Memory   maps of its own.
 * Errors   false: there is no memory.
 * Units    ids as CUPTI counts calls; ns of CUPTI's clock.
 */
#ifndef CUPTI_FLOW_CORRELATION_H
#define CUPTI_FLOW_CORRELATION_H

#include "agent/cupti/flow/place.h"

bool correlation_start(void);
/* A call was read: window NULL = outside of all. GPU work that waited for it is
 * placed. */
void correlation_call(uint32_t correlation, struct window *w, bool works);
/* Begin or end of a capture, both in one window: calls between them, of any thread, are
 * not waited for, as what was captured has no GPU work to come. */
void correlation_capture(uint32_t correlation, const struct window *w, bool begins);
/* GPU work: goes to the window of its call, now or when the call comes. */
void correlation_work(uint32_t correlation, const struct made *m);
void correlation_expire(int64_t age_ns); /* places what waited longer, by its time */
bool correlation_waits(const struct window *w); /* does work wait that ran in it? */
void correlation_fork_child(void);

#endif
