/* SPDX-License-Identifier: Apache-2.0 */
/* Each reason for which torch's operators call us, and that there is none without one. */
#include "agent/sched/cycle.h"
#include "agent/sched/state.h"
#include "tests/unit/unit.h"

static bool observed;

static void observe(bool on)
{
	observed = on;
}

static bool asked(void)
{
	observed = false;
	sched_observe();
	return observed;
}

/* A process whose steps run, between two windows; its user gave a plan that begins with
 * `wait`. */
static void setup(void)
{
	static const struct sched_actions act = { .observe = observe };

	sched.act = &act;
	sched.now = &stage_run;
	sched.life = LIFE_ON;
	sched.torch = true;
	stage_run.given = true;
	ck_assert_ptr_null(schedule_parse(&stage_run.plan, "wait=1,active=1"));
}

static void plan(const char *text)
{
	ck_assert_ptr_null(schedule_parse(&stage_run.plan, text));
}

START_TEST(between_windows_nobody_asks)
{
	observed = true;
	sched_observe();
	ck_assert(!observed);
	/* What would be asked before the first step is not asked later. */
	stage_run.given = false;
	sched.may_follow = true;
	plan("active=1");
	for (sched.life = LIFE_STARTING; sched.life <= LIFE_OFF; sched.life++)
		ck_assert(!asked());
}
END_TEST

START_TEST(a_window_asks_unless_operators_are_not_wanted)
{
	static struct cycle_info window;

	cycle_now = &window;
	ck_assert(asked());
	sched.cpu_off = true;
	ck_assert(!asked());
	/* The marker needs them all the same. */
	sched.ops = true;
	ck_assert(asked());
	cycle_now = NULL;
	sched.cpu_off = false;
	ck_assert(asked());
}
END_TEST

START_TEST(a_follower_asks)
{
	static struct job_slot *const some = (struct job_slot *)&observed;

	sched.leader = some;
	ck_assert(asked());
	sched.life = LIFE_NONE;
	ck_assert(asked());
}
END_TEST

START_TEST(before_the_first_step)
{
	sched.life = LIFE_NONE;
	ck_assert(!asked());
	/* The step may be recorded: each kind of recording, in the user's plan or
	 * without. */
	plan("active=2");
	ck_assert(asked());
	plan("active=1");
	ck_assert(asked());
	plan("warmup=1,active=1");
	ck_assert(!asked());
	stage_run.given = false;
	ck_assert(asked());
	stage_run.given = true;
	sched.may_follow = true;
	ck_assert(asked());
	/* Nothing is there that could call. */
	sched.torch = false;
	ck_assert(!asked());
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("sched_observe");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, between_windows_nobody_asks);
	tcase_add_test(tc, a_window_asks_unless_operators_are_not_wanted);
	tcase_add_test(tc, a_follower_asks);
	tcase_add_test(tc, before_the_first_step);
	return unit_run(tc, "sched_observe");
}
