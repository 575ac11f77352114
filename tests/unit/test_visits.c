/* SPDX-License-Identifier: Apache-2.0 */
/* Stages: which is on, whose steps and windows those are. */
#include "tests/unit/visits_bench.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(outside_of_stages_nothing_is_recorded)
{
	begin_run(WITHIN, "active=9");
	for (unsigned i = 0; i < 5; i++)
		iteration();
	ck_assert(!did.observing);
	no_cycle(1);
	pass(TRAIN); /* outside of fit */
	no_cycle(1);
	ck_assert_uint_eq(steps_of(1), 0);
}
END_TEST

START_TEST(a_window_ends_with_its_stage_and_goes_on_in_the_next_visit)
{
	uint32_t fit, evaluate;

	begin_run(WITHIN, "active=3,repeat=1");
	fit = call(FIT);
	in_stage("train");
	pass(TRAIN);
	pass(TRAIN);
	evaluate = call(EVALUATE);
	in_stage("val");
	is_cycle(1, CYCLE_SEALED, "0 1 2*"); /* the last one is void */
	is_of_stage(1, 1);
	pass(VAL);
	iteration(); /* of no meaning here */
	sched_end(evaluate);
	in_stage("train");
	is_cycle(2, CYCLE_SEALED, "0 1*");
	is_of_stage(2, 2);
	pass(TRAIN);
	is_cycle(3, CYCLE_SEALED, "2");
	is_of_stage(3, 1);
	pass(TRAIN);
	sched_end(fit);
	in_stage("");
	ck_assert_uint_eq(gate_cycle(), 0);
	no_cycle(4);
	ck_assert_uint_eq(steps_of(1), 4);
	ck_assert_uint_eq(steps_of(2), 1);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.stage[1].visits), 1);
}
END_TEST

START_TEST(calls_of_a_marker_alone_change_stages)
{
	begin_run("train.marker = python:m.batch\nval.marker = python:m.check\n",
		  "active=9");
	for (unsigned i = 0; i < 3; i++)
		pass(TRAIN);
	for (unsigned i = 0; i < 2; i++)
		pass(VAL);
	pass(TRAIN);
	is_cycle(1, CYCLE_SEALED, "0 1 2 3*");
	is_cycle(2, CYCLE_SEALED, "0 1 2*");
	is_cycle(3, CYCLE_OPEN, "3 4*");
	sched_exit();
	is_cycle(3, CYCLE_SEALED, "3 4*");
	ck_assert_uint_eq(steps_of(1), 4);
	ck_assert_uint_eq(steps_of(2), 2);
}
END_TEST

START_TEST(steps_that_begin_with_the_marker_end_with_the_visit)
{
	uint32_t fit, evaluate;

	begin_run("train.marker = python:m.batch@begin\ntrain.within = python:m.fit\n"
		  "val.marker = python:m.check\nval.within = python:m.evaluate\n",
		  "active=9");
	fit = call(FIT);
	no_cycle(1);
	pass(TRAIN);
	pass(TRAIN);
	evaluate = call(EVALUATE);
	is_cycle(1, CYCLE_SEALED, "0 1");
	pass(VAL);
	sched_end(evaluate);
	ck_assert_uint_eq(gate_cycle(), 0);
	pass(TRAIN);
	ck_assert_uint_eq(gate_cycle(), 3);
	sched_end(fit);
	is_cycle(3, CYCLE_SEALED, "2");
	ck_assert_uint_eq(steps_of(1), 3);
}
END_TEST

START_TEST(functions_enter_and_leave)
{
	uint32_t fit;

	begin_run("train.marker = python:m.batch\ntrain.within = python:m.fit\n"
		  "val.marker = python:m.check\nval.enter = python:m.begins@end\n"
		  "val.leave = python:m.ends@begin\n",
		  "active=9");
	pass(EVAL_ENDS);
	in_stage("");
	fit = call(FIT);
	sched_end(call(EVAL)); /* at its end */
	in_stage("val");
	pass(VAL);
	sched_end(fit); /* leaves both */
	in_stage("");
	pass(EVAL_ENDS);
	in_stage("");
	fit = call(FIT);
	pass(EVAL);
	pass(EVAL);
	in_stage("val");
	pass(EVAL_ENDS);
	in_stage("train");
	sched_end(fit);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.stage[1].visits), 2);
}
END_TEST

START_TEST(steps_of_one_function_stay_in_the_outer_stage)
{
	uint32_t predict, evaluate;

	begin_run("predict.marker = python:m.check\npredict.within = python:m.predict\n"
		  "val.marker = python:m.check\nval.within = python:m.evaluate\n",
		  "active=9");
	ck_assert_str_eq(sched_function(TRAIN), "m.check");
	ck_assert_ptr_null(sched_function(VAL)); /* the same */
	predict = call(FIT);
	evaluate = call(EVALUATE);
	in_stage("predict");
	pass(TRAIN);
	sched_end(evaluate);
	in_stage("predict");
	sched_end(predict);
	evaluate = call(EVALUATE);
	in_stage("val");
	pass(TRAIN);
	pass(TRAIN);
	sched_end(evaluate);
	ck_assert_uint_eq(steps_of(1), 1);
	ck_assert_uint_eq(steps_of(2), 2);
}
END_TEST

/* Its steps begin and end with it, as those of a function that is called once. */
START_TEST(one_function_may_be_all_of_a_stage)
{
	begin_run("val.marker = python:m.evaluate\nval.within = python:m.evaluate\n",
		  "active=9");
	for (unsigned i = 0; i < 2; i++)
		pass(TRAIN);
	in_stage("");
	is_cycle(1, CYCLE_SEALED, "0 1*");
	is_cycle(2, CYCLE_SEALED, "1 2*");
	ck_assert_uint_eq(steps_of(1), 2);
}
END_TEST

START_TEST(what_is_entered_stays_until_another_is)
{
	begin_run("train.marker = torch:Optimizer.step#*\ntrain.enter = python:m.train\n"
		  "val.marker = python:m.check\nval.enter = python:m.eval\n",
		  "active=9");
	annotation(STEP);
	no_cycle(1);
	for (unsigned i = 0; i < 2; i++) {
		pass(6);
		annotation(STEP);
		in_stage("train");
		pass(EVAL);
		annotation(STEP); /* not this one's */
		pass(VAL);
		in_stage("val");
	}
	is_cycle(1, CYCLE_SEALED, "0 1*");
	is_cycle(2, CYCLE_SEALED, "0 1*");
	is_cycle(3, CYCLE_SEALED, "1 2*");
	ck_assert_uint_eq(steps_of(1), 2);
	ck_assert_uint_eq(steps_of(2), 2);
}
END_TEST

START_TEST(auto_counts_in_its_stage_alone)
{
	uint32_t fit, evaluate;

	begin_run("train.marker = auto\ntrain.within = python:m.fit\n"
		  "val.marker = python:m.check\nval.within = python:m.evaluate\n",
		  "active=99");
	fit = call(FIT);
	for (unsigned i = 0; i < 4; i++)
		iteration();
	ck_assert_uint_eq(steps_of(1), 3);
	evaluate = call(EVALUATE);
	for (unsigned i = 0; i < 5; i++)
		annotation(NEXT);
	ck_assert_uint_eq(steps_of(1), 3);
	sched_end(evaluate);
	sched_end(fit);
}
END_TEST

static void *other_thread(void *arg)
{
	(void)arg;
	pass(FIT);
	sched_end(call(EVALUATE));
	return NULL;
}

START_TEST(another_threads_calls_change_nothing)
{
	pthread_t thread;
	uint32_t fit;

	begin_run(WITHIN, "active=9");
	fit = call(FIT);
	pthread_create(&thread, NULL, other_thread, NULL);
	pthread_join(thread, NULL);
	in_stage("train");
	ck_assert_uint_eq(atomic_load(&spool.head->sched.stage[1].visits), 0);
	sched_end(fit);
}
END_TEST

START_TEST(a_child_is_in_no_stage)
{
	int status;

	begin_run(WITHIN, "active=9");
	call(FIT);
	pass(TRAIN);
	if (!fork()) {
		gate_set(0, 0);
		sched_fork_child();
		pass(TRAIN);
		if (sched.now != &stage_run || gate_cycle())
			_exit(1);
		call(FIT);
		pass(TRAIN);
		_exit(sched.now->number != 1 || sched.now->step != 1);
	}
	wait(&status);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Nobody has judged them where there is no launcher. */
START_TEST(wrong_stages_are_none)
{
	begin_run("a.marker = torch:x\nb.marker = torch:x\n", "active=9");
	ck_assert_uint_eq(stage_count, 0);
	iteration();
	iteration();
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("visits");

	tcase_add_test(tc, wrong_stages_are_none);
	tcase_add_test(tc, outside_of_stages_nothing_is_recorded);
	tcase_add_test(tc, a_window_ends_with_its_stage_and_goes_on_in_the_next_visit);
	tcase_add_test(tc, calls_of_a_marker_alone_change_stages);
	tcase_add_test(tc, steps_that_begin_with_the_marker_end_with_the_visit);
	tcase_add_test(tc, functions_enter_and_leave);
	tcase_add_test(tc, steps_of_one_function_stay_in_the_outer_stage);
	tcase_add_test(tc, one_function_may_be_all_of_a_stage);
	tcase_add_test(tc, what_is_entered_stays_until_another_is);
	tcase_add_test(tc, auto_counts_in_its_stage_alone);
	tcase_add_test(tc, another_threads_calls_change_nothing);
	tcase_add_test(tc, a_child_is_in_no_stage);
	return unit_run(tc, "visits");
}
