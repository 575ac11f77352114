/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched_bench - the scheduler on a real spool; what it would cause elsewhere is counted.
 *
 * Threads  none of its own.  Memory  one process for each test: Check forks.
 * Errors   assertions.  Units  none.
 */
#ifndef TESTS_SCHED_BENCH_H
#define TESTS_SCHED_BENCH_H

#include "agent/core/emit.h"
#include "agent/core/spool_view.h"
#include "agent/sched/cycle.h"
#include "agent/sched/sched.h"
#include "agent/sched/state.h"
#include "base/log.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct {
	unsigned observe_on, observe_off, arm, sealed, begin, opened_now, patch;
	bool observing;
	bool locked; /* opened_now came under the lock */
	bool refuses; /* begin */
	void (*begins)(void); /* does what it likes before begin answers */
} did;

/* What is caused elsewhere may change errno: each of these does. */

static inline void observe(bool on)
{
	if (on != did.observing)
		*(on ? &did.observe_on : &did.observe_off) += 1;
	did.observing = on;
	errno = EIO;
}

static inline void arm(void)
{
	did.arm++;
	errno = EIO;
}

static inline void sealed(void)
{
	did.sealed++;
	errno = EIO;
}

static inline bool begin(void)
{
	did.begin++;
	errno = EIO;
	if (did.begins)
		did.begins();
	return !did.refuses;
}

static inline void opened_now(void)
{
	did.opened_now++;
	did.locked |= sched_locked();
}

static inline bool patch(const char *symbol, void (*hit)(void))
{
	(void)symbol;
	(void)hit;
	did.patch++;
	return false;
}

static bool heap_records; /* before start(): the heap is recorded */
static const char *stage_lines = ""; /* "name.key = value\n" */

static inline void start_sized(const char *schedule, const char *marker, uint64_t cap)
{
	static struct config config;
	struct sched_actions actions = { .observe = observe,
					 .arm = arm,
					 .sealed = sealed,
					 .begin = begin,
					 .opened_now = opened_now,
					 .patch = patch };

	clock_start();
	ck_assert_int_eq(gate_start(), 0);
	ck_assert_int_eq(thread_start(), 0);
	spool_open(NULL, cap);
	ck_assert_int_eq(spool_prepare(cap), 0);
	config_defaults(&config);
	config.quiet = log_quiet = true;
	strcpy(config.schedule, schedule);
	strcpy(config.marker, marker);
	strcpy(config.stages, stage_lines);
	clock_sample(spool.head);
	sched_start(&config, &actions);
	sched_main(heap_records || !strcmp(marker, "none"));
}

static inline void start(const char *schedule, const char *marker)
{
	start_sized(schedule, marker, 16 << 20);
}

/* An event as the observer brings it: the follow word first. */
static inline void event(void)
{
	if (atomic_load(sched_follow) != sched_followed)
		sched_follow_changed();
}

static inline void annotation(const char *name)
{
	event();
	sched_end(sched_begin(name, strlen(name)));
}

#define NEXT "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define STEP "Optimizer.step#SGD.step"

static inline void iteration(void)
{
	annotation(NEXT);
	sched_backward();
	annotation(STEP);
}

/* ---- what lies in the spool ---- */

static inline struct cycle_info *cycle(uint64_t number)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at)))
		if (atomic_load(&((struct chunk *)c)->kind) == CHUNK_CYCLE &&
		    c->cycle == number)
			return (struct cycle_info *)(c + 1);
	return NULL;
}

/* The steps of a cycle as text: "2 3 4*"; a star for one that is not finished. */
static inline const char *steps(uint64_t number)
{
	static char text[256];
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;
	char *p = text;

	*p = 0;
	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at))) {
		if (atomic_load(&((struct chunk *)c)->kind) != CHUNK_DATA ||
		    c->cycle != number)
			continue;
		for (uint32_t i = sizeof(*c);
		     i < atomic_load(&((struct chunk *)c)->used);) {
			const struct rec_step *r = (const void *)((const uint8_t *)c + i);

			if (r->r.kind == REC_STEP)
				p += sprintf(p, "%s%ld%s", p == text ? "" : " ",
					     (long)r->number, r->r.end ? "" : "*");
			i += r->r.units * 8;
		}
	}
	return text;
}

static inline void is_cycle(uint64_t number, enum cycle_state state, const char *want)
{
	struct cycle_info *c = cycle(number);

	ck_assert_msg(c, "there is no cycle %d", (int)number);
	ck_assert_uint_eq(atomic_load(&c->state), state);
	ck_assert_str_eq(steps(number), want);
}

static inline void no_cycle(uint64_t number)
{
	ck_assert_ptr_null(cycle(number));
}

#endif
