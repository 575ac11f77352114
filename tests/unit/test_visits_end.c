/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of a stage's window when it is left, or the process ends. */
#include "tests/unit/visits_bench.h"

/* Two windows follow each other, and the second has no step yet when its stage is left.
 */
START_TEST(a_window_without_a_step_is_thrown_away)
{
	uint32_t fit;

	begin_run(WITHIN, "active=1");
	fit = call(FIT);
	pass(TRAIN);
	sched_end(fit);
	is_cycle(1, CYCLE_SEALED, "0");
	is_cycle(2, CYCLE_DISCARDED, "1*");
	fit = call(FIT);
	pass(TRAIN);
	is_cycle(3, CYCLE_SEALED, "1");
	sched_end(fit);
}
END_TEST

/* Of the default plan: what no window of the plan has taken the place of. */
START_TEST(the_last_visit_of_a_short_stage_is_kept)
{
	uint32_t evaluate;

	begin_run(WITHIN, "");
	evaluate = call(EVALUATE);
	pass(VAL);
	sched_end(evaluate);
	evaluate = call(EVALUATE);
	pass(VAL);
	sched_end(evaluate);
	/* The plan's window has begun, and has no step. */
	is_cycle(1, CYCLE_DISCARDED, "0 1*");
	is_cycle(3, CYCLE_DISCARDED, "2*");
	sched_exit();
	is_cycle(2, CYCLE_SEALED, "1");
	ck_assert_uint_eq(gate_cycle(), 0);
}
END_TEST

START_TEST(a_plans_window_takes_the_place_of_what_was_held)
{
	uint32_t evaluate;

	begin_run(WITHIN, "");
	evaluate = call(EVALUATE);
	pass(VAL);
	sched_end(evaluate);
	evaluate = call(EVALUATE);
	pass(VAL); /* step 2 begins: the plan's first */
	is_cycle(1, CYCLE_DISCARDED, "0 1*");
	pass(VAL);
	sched_end(evaluate);
	sched_exit();
	is_cycle(2, CYCLE_DISCARDED, "1");
	is_cycle(3, CYCLE_SEALED, "2 3*");
	is_of_stage(3, 2);
}
END_TEST

START_TEST(each_stage_has_its_plan)
{
	uint32_t evaluate;

	begin_run(
		"train.marker = python:m.batch\ntrain.schedule = wait=1,active=1,repeat=1\n"
		"val.marker = python:m.check\nval.within = python:m.evaluate\n",
		"wait=2,active=1,repeat=1");
	for (unsigned i = 0; i < 3; i++)
		pass(TRAIN);
	is_cycle(1, CYCLE_SEALED, "1");
	evaluate = call(EVALUATE);
	for (unsigned i = 0; i < 4; i++)
		pass(VAL);
	sched_end(evaluate);
	is_cycle(2, CYCLE_SEALED, "2");
	no_cycle(3);
}
END_TEST

START_TEST(a_window_with_a_step_is_kept_at_the_end)
{
	begin_run(WITHIN, "active=9");
	call(FIT);
	if (_i)
		pass(TRAIN);
	sched_exit();
	/* Nothing says that what was begun is a step. */
	is_cycle(1, _i ? CYCLE_SEALED : CYCLE_DISCARDED, _i ? "0 1*" : "0*");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("visits_end");

	tcase_add_test(tc, a_window_without_a_step_is_thrown_away);
	tcase_add_test(tc, the_last_visit_of_a_short_stage_is_kept);
	tcase_add_test(tc, a_plans_window_takes_the_place_of_what_was_held);
	tcase_add_test(tc, each_stage_has_its_plan);
	tcase_add_loop_test(tc, a_window_with_a_step_is_kept_at_the_end, 0, 2);
	return unit_run(tc, "visits_end");
}
