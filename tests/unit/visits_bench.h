/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visits_bench - the scheduler with stages. Triggers are numbers: stage 1's are 4
 * (marker), 5 (within), 6 (enter), 7 (leave), stage 2's begin at 8.
 *
 * Threads  none of its own.  Memory  one process for each test: Check forks.
 * Errors   assertions.  Units  none.
 */
#ifndef TESTS_VISITS_BENCH_H
#define TESTS_VISITS_BENCH_H

#include "tests/unit/sched_bench.h"

#include "agent/sched/visit.h"

enum { TRAIN = 4, FIT = 5, VAL = 8, EVALUATE = 9, EVAL = 10, EVAL_ENDS = 11 };

static inline uint32_t call(unsigned trigger)
{
	return sched_function_begin(trigger);
}

static inline void pass(unsigned trigger)
{
	sched_end(call(trigger));
}

static inline void begin_run(const char *lines, const char *schedule)
{
	stage_lines = lines;
	start(schedule, "auto");
	sched_torch_found();
	event();
}

static inline void in_stage(const char *name)
{
	ck_assert_str_eq(sched.now->name, name);
}

static inline void is_of_stage(uint64_t number, unsigned stage)
{
	ck_assert(cycle(number));
	ck_assert_uint_eq(cycle(number)->stage, stage);
}

static inline uint64_t steps_of(unsigned stage)
{
	return atomic_load(&spool.head->sched.stage[stage - 1].steps);
}

#define WITHIN                            \
	"train.marker = python:m.batch\n" \
	"train.within = python:m.fit\n"   \
	"val.marker = python:m.check\n"   \
	"val.within = python:m.evaluate\n"

#endif
