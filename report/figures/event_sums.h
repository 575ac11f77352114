/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_sums - what torch's FunctionEvent says of an event: times and memory, in all and
 * of its own, with those of the events inside taken off.
 *
 * Threads  one at a time.
 * Memory   41 bytes a slice, and 120 for each event that is open; none afterwards.
 * Errors   false: not enough memory, or `take` said so.
 * Units    nanoseconds that stay at their ends; doubles of microseconds; bytes.
 */
#ifndef REPORT_FIGURES_EVENT_SUMS_H
#define REPORT_FIGURES_EVENT_SUMS_H

#include "report/figures/moved.h"

struct event_sums {
	int64_t cpu, self_cpu, device, self_device;
	double cpu_us, self_cpu_us, device_us, self_device_us;
	struct moved_bytes moved, self_moved;
};

typedef bool event_sums_take(void *arg, uint32_t slice, const struct event_sums *sums);

/* Calls `take` for each event, those inside an event before it. */
bool event_sums_each(const struct model *m, struct moved *moved, event_sums_take *take,
		     void *arg);

#endif
