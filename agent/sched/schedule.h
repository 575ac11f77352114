/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule - step number to phase, exactly torch.profiler.schedule.
 *
 * Threads  any: pure.
 * Memory   none.
 * Errors   schedule_parse returns NULL, or why the text is no plan.
 * Units    steps, counted from 0.
 */
#ifndef SCHED_SCHEDULE_H
#define SCHED_SCHEDULE_H

#include <stdint.h>

#define SCHEDULE_DEFAULT "wait=1,warmup=1,active=3,repeat=1" /* where none is given */

struct schedule {
	uint64_t skip_first, wait, warmup, active, repeat, skip_first_wait;
};

enum phase { PHASE_NONE, PHASE_WARMUP, PHASE_RECORD, PHASE_SAVE }; /* torch's actions */

/* "wait=1,warmup=1,active=3": `active` must be there, others default to 0. */
const char *schedule_parse(struct schedule *plan, const char *text);
enum phase schedule_at(const struct schedule *plan, uint64_t step);

/* What to do between two steps, in this order of bits. */
enum change {
	DO_PREPARE = 1,
	DO_START = 2,
	DO_STOP = 4,
	DO_SAVE = 8,
	DO_PREPARE_AGAIN = 16,
	DO_START_AGAIN = 32
};
unsigned schedule_change(enum phase before, enum phase after);

#endif
