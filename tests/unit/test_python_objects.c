/* SPDX-License-Identifier: Apache-2.0 */
/* When allocators of ours stand in front of an interpreter's, and when they do not. */
#include "tests/unit/objects_bench.h"

START_TEST(ours_are_there_in_a_window)
{
	setup_as(_i);
	ck_assert(!objects_missing(0));
	for (unsigned n = 1; n < 5; n++) {
		ck_assert_uint_gt(begin(n), 77);
		ck_assert(are_there(ours_of(0), ours_of(0) + 1));
		ck_assert(same_functions(next_of(0), &pools));
		objects_begin(bench_info()); /* again: nothing */
		ck_assert(!end());
		ck_assert(!says(last, PYTHON_UNSEEN));
		ck_assert(are_there(&pools, &pools));
		objects_ended(last);
		ck_assert(!says(last, PYTHON_EXCHANGED));
	}
	/* They were looked for once, and since 3.12 nothing was called for it. */
	ck_assert_uint_eq(asked, 1);
	ck_assert_uint_eq(sets, _i == 11 ? 4 : 0);
}
END_TEST

/* Each hears of its end when the next is there already. */
START_TEST(windows_that_follow_at_once_lose_nothing)
{
	struct cycle_info *old;

	setup_as(_i);
	begin(1);
	for (unsigned n = 2; n < 5; n++) {
		old = bench_info();
		begin(n);
		ck_assert(are_there(ours_of(0), ours_of(0) + 1));
		objects_ended(old);
		ck_assert(are_there(ours_of(0), ours_of(0) + 1));
		ck_assert(!says(old, PYTHON_EXCHANGED));
	}
	ck_assert(!end());
	ck_assert(are_there(&pools, &pools));
}
END_TEST

/* From then on any thread may exchange them. */
START_TEST(the_lock_is_needed_once)
{
	setup_as(_i);
	lock_held = false;
	bench_cycle(1);
	objects_look();
	objects_begin(bench_info());
	ck_assert(objects_missing(1));
	ck_assert(are_there(&pools, &pools));
	ck_assert_uint_eq(asked, 0);
	lock_held = true;
	objects_begin_late(bench_info());
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
	lock_held = false;
	ck_assert(!end());
	ck_assert(are_there(&pools, &pools));
	ck_assert_uint_gt(begin(2), 77);
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
}
END_TEST

START_TEST(a_look_finds_them_before_there_is_a_window)
{
	setup_as(_i);
	objects_look();
	objects_look();
	ck_assert_uint_eq(asked, 1);
	ck_assert(are_there(&pools, &pools));
	lock_held = false;
	ck_assert_uint_gt(begin(1), 77);
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
}
END_TEST

/* The window ends while a thread is about to put them in place. */
START_TEST(who_comes_too_late_leaves_nothing)
{
	struct cycle_info *info;

	setup_as(_i);
	objects_look();
	bench_cycle(1);
	info = bench_info();
	gate_set(0, 0);
	objects_ended(info);
	objects_begin_late(info);
	ck_assert(are_there(&pools, &pools));
	ck_assert_uint_gt(begin(2), 77);
	ck_assert(!end());
}
END_TEST

/* Malloc's hooks see each of them. */
START_TEST(what_malloc_gives_is_left_to_its_hooks)
{
	setup_as(_i);
	put(&by_malloc);
	for (unsigned n = 1; n < 3; n++) {
		ck_assert_uint_eq(begin(n), 77);
		ck_assert(are_there(&by_malloc, &by_malloc));
		ck_assert(!end());
		ck_assert(!says(last, PYTHON_UNSEEN));
	}
	ck_assert_uint_eq(sets, _i == 11 ? 4 : 0);
}
END_TEST

/* Found nowhere, in two places, or behind what may be read. */
START_TEST(where_they_cannot_be_found_they_stay)
{
	setup_as(12);
	if (_i == 0)
		memcpy(runtime.before, &runtime.raw, 3 * sizeof(pools));
	if (_i == 1)
		memcpy(runtime.after + 100, &runtime.raw, 3 * sizeof(pools));
	if (_i == 2)
		interpreter_runtime = runtime.after;
	if (_i == 3)
		interpreter_runtime = (void *)4096;
	objects_prepare(ours, next);
	for (unsigned n = 1; n < 3; n++) {
		ck_assert_uint_eq(begin(n), 0);
		ck_assert(are_there(&pools, &pools));
		ck_assert(!end());
		ck_assert(says(last, PYTHON_UNSEEN));
	}
	ck_assert_uint_eq(sets, 0);
	ck_assert_uint_eq(asked, 1); /* once and for all */
}
END_TEST

/* 3.13 may let its lock go meanwhile: there it is never asked within an allocation. */
START_TEST(who_may_let_the_lock_go_is_asked_by_a_look_alone)
{
	setup_as(_i);
	put(&tool);
	for (unsigned n = 1; n < 5; n++) {
		bench_cycle(n);
		objects_begin(bench_info());
		ck_assert_int_eq(objects_missing(n), _i >= 13);
		end();
		ck_assert_int_eq(says(last, PYTHON_UNSEEN), _i >= 13);
	}
	ck_assert_uint_eq(asked, _i < 13);
	objects_look();
	ck_assert_uint_eq(asked, 1 + (_i < 13)); /* as long as a tool is there */
	put(&pools);
	objects_look();
	objects_look();
	ck_assert_uint_eq(asked, 2 + (_i < 13));
	ck_assert_uint_gt(begin(5), 77);
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
	ck_assert(!end());
}
END_TEST

/* A window in which the first look comes late, and one in which it does not come. */
START_TEST(until_the_first_look_the_window_waits)
{
	setup_as(13);
	for (unsigned n = 1; n < 3; n++) {
		bench_cycle(n);
		objects_begin(bench_info());
		objects_begin_late(bench_info());
		ck_assert(objects_missing(n));
		if (n == 2) {
			objects_look();
			objects_begin_late(bench_info());
			ck_assert(!objects_missing(n));
			ck_assert(are_there(ours_of(0), ours_of(0) + 1));
		}
		end();
		ck_assert_int_eq(says(last, PYTHON_UNSEEN), n == 1);
		ck_assert_int_eq(says(last, PYTHON_OBJECTS), n == 2);
	}
	ck_assert_uint_eq(asked, 1);
}
END_TEST

/* In a window in which a thread allocated before that, and none later. */
START_TEST(it_is_told_where_they_were_not_seen)
{
	setup_as(12);
	bench_cycle(1);
	initialised = 0;
	objects_unseen(bench_info());
	ck_assert(!says(bench_info(), PYTHON_UNSEEN));
	initialised = 1;
	objects_unseen(bench_info());
	end();
	ck_assert(says(last, PYTHON_UNSEEN));
	bench_cycle(2);
	objects_unseen(bench_info());
	objects_begin_late(bench_info());
	objects_unseen(bench_info()); /* the interpreter's end */
	ck_assert(!says(bench_info(), PYTHON_UNSEEN)); /* a window that nobody ends */
	end();
}
END_TEST

START_TEST(a_forks_child_has_none_and_counts_windows_anew)
{
	setup_as(_i);
	begin(1);
	objects_fork_child();
	ck_assert(are_there(&pools, &pools));
	ck_assert_uint_gt(begin(1), 77);
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
	ck_assert(!end());
	objects_fork_child();
	ck_assert(are_there(&pools, &pools));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("python_objects");

	OLD_AND_NEW(ours_are_there_in_a_window);
	OLD_AND_NEW(windows_that_follow_at_once_lose_nothing);
	OLD_AND_NEW(the_lock_is_needed_once);
	OLD_AND_NEW(a_look_finds_them_before_there_is_a_window);
	OLD_AND_NEW(who_comes_too_late_leaves_nothing);
	OLD_AND_NEW(what_malloc_gives_is_left_to_its_hooks);
	tcase_add_loop_test(tc, where_they_cannot_be_found_they_stay, 0, 4);
	tcase_add_loop_test(tc, who_may_let_the_lock_go_is_asked_by_a_look_alone, 12, 15);
	tcase_add_test(tc, until_the_first_look_the_window_waits);
	tcase_add_test(tc, it_is_told_where_they_were_not_seen);
	OLD_AND_NEW(a_forks_child_has_none_and_counts_windows_anew);
	return unit_run(tc, "python_objects");
}
