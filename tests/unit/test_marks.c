/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sched_bench.h"

#include <sys/wait.h>
#include <unistd.h>

START_TEST(nothing_is_done_while_idle)
{
	start("active=1,repeat=1", "auto");
	sched_torch_found();
	event();
	for (unsigned i = 0; i < 100; i++)
		iteration();
	ck_assert(!did.observing);
	ck_assert_uint_eq(did.observe_on, 1);
	ck_assert_uint_eq(did.arm, 1);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 99);
}
END_TEST

/* Another thread has the lock, and gets no processor. */
START_TEST(a_boundary_that_is_given_up_is_counted)
{
	start("active=9", "auto");
	iteration();
	iteration();
	atomic_store(&sched.lock, 1);
	iteration();
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 1);
	ck_assert_uint_eq(atomic_load(&cycle(1)->whys[DROP_BOUNDARY]), 1);
	atomic_store(&sched.lock, 0);
	iteration();
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 2);
	ck_assert_uint_eq(atomic_load(&cycle(1)->whys[DROP_BOUNDARY]), 1);
}
END_TEST

/* Another thread begins, and takes longer than anybody waits for it. */
START_TEST(first_events_that_cannot_wait_are_counted)
{
	start("active=9", "auto");
	atomic_store(&sched.life, LIFE_STARTING);
	annotation(STEP);
	ck_assert_ptr_null(cycle(1));
	atomic_store(&sched.life, LIFE_NONE);
	annotation(STEP);
	ck_assert_uint_eq(atomic_load(&cycle(1)->whys[DROP_START]), 2);
	annotation(STEP);
	ck_assert_uint_eq(atomic_load(&cycle(1)->whys[DROP_START]), 2);
}
END_TEST

START_TEST(only_outermost_steps_count)
{
	start("active=1,wait=1", "auto");
	for (unsigned i = 0; i < 3; i++) {
		uint32_t outer, inner;

		sched_backward();
		outer = sched_begin(STEP, strlen(STEP));
		inner = sched_begin(STEP, strlen(STEP));
		ck_assert_uint_ne(outer, 0);
		ck_assert_uint_eq(inner, 0);
		sched_end(inner);
		sched_end(outer);
	}
	ck_assert_uint_eq(atomic_load(&spool.head->sched.optimizer_steps), 3);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 3);
}
END_TEST

START_TEST(edges_are_where_they_were_asked_for)
{
	uint32_t token;

	start("wait=1,active=1", _i ? "torch:work@begin" : "torch:work");
	event();
	token = sched_begin("work", 4);
	ck_assert_uint_eq(gate_cycle(), _i ? 1 : 0);
	ck_assert_uint_eq(sched_begin("work", 4), 0); /* within itself */
	sched_end(token);
	ck_assert_uint_eq(gate_cycle(), 1);
}
END_TEST

static void call(const char *function, const char *kernel)
{
	sched_end(sched_call_begin(function, kernel));
}

START_TEST(cuda_calls_and_kernels_end_steps)
{
	bool kernel = _i;

	start("wait=1,active=1", kernel ? "kernel:*gemm*" : "cuda:cudaLaunch*");
	ck_assert(sched_wants_calls());
	call("cudaMemcpyAsync", NULL); /* begins step 0 only where it matches */
	ck_assert_uint_eq(gate_cycle(), 0);
	call("cudaLaunchKernel", "_Z5relu_Pf");
	ck_assert_uint_eq(gate_cycle(), kernel ? 0 : 1);
	call("cudaLaunchKernel", "_Z5sgemmPf");
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), kernel ? 1 : 2);
	call("cudaLaunchKernel", NULL);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), kernel ? 1 : 3);
}
END_TEST

START_TEST(cuda_alone_begins_step_0)
{
	start("", "auto");
	ck_assert(!sched_wants_calls());
	ck_assert_uint_eq(sched_call_begin("cudaLaunchKernel", NULL), 0);
	sched_used();
	ck_assert(cycle_now && cycle_now->flags & CYCLE_PROVISIONAL);
	sched_exit();
	ck_assert_uint_eq(cycle(1)->state, CYCLE_SEALED);
}
END_TEST

START_TEST(with_torch_the_first_operator_does)
{
	start("", "auto");
	sched_torch_found();
	sched_used();
	ck_assert_ptr_null(cycle_now);
}
END_TEST

START_TEST(operators_can_be_switched_off_and_on)
{
	start("active=2", "auto");
	sched_torch_found();
	event();
	ck_assert(did.observing);
	sched_collect(false);
	ck_assert(!did.observing);
	sched_collect(true);
	ck_assert(did.observing);
}
END_TEST

START_TEST(an_operator_marker_watches_operators)
{
	start("wait=1,active=1", "torch:aten::add@end");
	sched_torch_found();
	ck_assert(sched_wants_ops());
	ck_assert(did.observing);
	event();
	ck_assert_uint_eq(sched_op_begin("aten::mul", 9), 0);
	sched_end(sched_op_begin("aten::add", 9));
	ck_assert_uint_eq(gate_cycle(), 1);
	sched_end(sched_op_begin("aten::add", 9));
	ck_assert_uint_eq(gate_cycle(), 0);
	ck_assert(did.observing);
}
END_TEST

START_TEST(a_name_that_is_an_annotation_is_not_looked_for_in_operators)
{
	start("wait=1,active=1", "torch:my step");
	sched_torch_found();
	ck_assert(sched_wants_ops());
	annotation("my step");
	ck_assert(!sched_wants_ops());
	annotation("my step");
	ck_assert(!did.observing);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 2);
}
END_TEST

START_TEST(a_program_with_a_profiler_gets_no_rows_of_ours)
{
	start("wait=1,active=2", "auto");
	for (unsigned i = 0; i < 4; i++) {
		annotation("ProfilerStep#0");
		iteration();
	}
	is_cycle(1, CYCLE_SEALED, "");
	ck_assert_int_eq(cycle(1)->first_step, 1);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 3);
}
END_TEST

START_TEST(without_boundaries_the_run_is_one_window)
{
	start("active=1", "none");
	iteration();
	sched_step();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_WHOLE);
	is_cycle(1, CYCLE_OPEN, "");
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "");
	no_cycle(2);
}
END_TEST

START_TEST(the_clock_makes_steps)
{
	int64_t next = 0;

	start("wait=1,active=1", "time:20");
	sched_torch_found();
	no_cycle(1);
	for (unsigned i = 0; i < 8; i++) {
		usleep((useconds_t)(next / 1000));
		next = sched_tick();
		ck_assert_int_le(next, 20000000);
	}
	is_cycle(1, CYCLE_SEALED, "1");
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_TIMED);
	ck_assert_uint_ge(atomic_load(&spool.head->sched.boundaries), 6);
}
END_TEST

START_TEST(the_programs_own_steps_win_over_what_is_guessed)
{
	start("active=9", "auto");
	sched_step();
	for (unsigned i = 0; i < 4; i++)
		iteration();
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 1);
}
END_TEST

START_TEST(a_function_is_looked_for_in_each_library)
{
	start("active=9", "symbol:late");
	ck_assert_uint_eq(did.patch, 1);
	sched_library();
	sched_library();
	ck_assert_uint_eq(did.patch, 3);
}
END_TEST

/* Its parent said where its steps end; a child that does not is asked nothing else. */
START_TEST(a_childs_steps_are_guessed_anew)
{
	uint64_t before;
	int status;

	start("active=9", "auto");
	sched_step();
	if (!fork()) {
		gate_set(0, 0);
		sched_fork_child();
		before = atomic_load(&spool.head->sched.boundaries);
		for (unsigned i = 0; i < 4; i++)
			iteration();
		_exit(atomic_load(&spool.head->sched.boundaries) != before + 3);
	}
	wait(&status);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_child_begins_anew)
{
	int status;

	start("active=1,wait=1", "auto");
	sched_step();
	ck_assert_uint_eq(gate_cycle(), 1);
	if (!fork()) {
		gate_set(0, 0);
		sched_fork_child();
		if (gate_cycle() || cycle_now)
			_exit(1);
		sched_step();
		_exit(did.begin < 2 || !cycle(2) || cycle(2)->first_step != 1);
	}
	wait(&status);
	ck_assert_int_eq(status, 0);
	sched_step();
	is_cycle(1, CYCLE_SEALED, "1");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("marks");

	tcase_add_test(tc, nothing_is_done_while_idle);
	tcase_add_test(tc, a_boundary_that_is_given_up_is_counted);
	tcase_add_test(tc, first_events_that_cannot_wait_are_counted);
	tcase_add_test(tc, only_outermost_steps_count);
	tcase_add_loop_test(tc, edges_are_where_they_were_asked_for, 0, 2);
	tcase_add_loop_test(tc, cuda_calls_and_kernels_end_steps, 0, 2);
	tcase_add_test(tc, cuda_alone_begins_step_0);
	tcase_add_test(tc, with_torch_the_first_operator_does);
	tcase_add_test(tc, operators_can_be_switched_off_and_on);
	tcase_add_test(tc, an_operator_marker_watches_operators);
	tcase_add_test(tc, a_name_that_is_an_annotation_is_not_looked_for_in_operators);
	tcase_add_test(tc, a_program_with_a_profiler_gets_no_rows_of_ours);
	tcase_add_test(tc, without_boundaries_the_run_is_one_window);
	tcase_add_test(tc, the_clock_makes_steps);
	tcase_add_test(tc, the_programs_own_steps_win_over_what_is_guessed);
	tcase_add_test(tc, a_function_is_looked_for_in_each_library);
	tcase_add_test(tc, a_childs_steps_are_guessed_anew);
	tcase_add_test(tc, a_child_begins_anew);
	return unit_run(tc, "marks");
}
