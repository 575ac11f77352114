/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/torch/memory.h"
#include "agent/torch/observe.h"
#include "tests/unit/torch_library.h"

#include <errno.h>

/* What we ask of libtorch, and when. */

static struct config config;

static void start(bool shapes)
{
	static const struct torch_listener listener;

	config_defaults(&config);
	config.record_shapes = shapes;
	config.children = true;
	torch_start(&config, &listener);
}

static void begin(void)
{
	start(false);
	library_map("new", "libtorch_cpu.so.2.8.0", NULL);
	ck_assert(torch_found());
}
#define OP 1 /* the handles */

START_TEST(two_callbacks_are_registered_once)
{
	start(_i);
	library_map("new", "libtorch_cpu.so.2.8.0", NULL);
	ck_assert(torch_found());
	ck_assert(torch_found());
	ck_assert_uint_eq(fake->added, 2);
	for (unsigned scope = 0; scope < 10; scope++) {
		ck_assert_uint_eq(fake->callback[0].scopes[scope], scope < 3);
		ck_assert_uint_eq(fake->callback[1].scopes[scope], scope == 7);
	}
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(fake->callback[i].needs_inputs, _i);
		ck_assert_uint_eq(fake->callback[i].needs_ids, 0);
		ck_assert(fake->callback[i].probability == 1.0);
		ck_assert(fake->callback[i].end == (void *)observe_end);
	}
	ck_assert_uint_eq(fake->disabled[OP], 1); /* until a window opens */
	ck_assert_uint_eq(fake->disabled[OP + 1], 0);
}
END_TEST

START_TEST(a_window_that_is_open_already_has_operators)
{
	start(false);
	torch_observe(true);
	library_map("new", "libtorch_cpu.so.2.8.0", NULL);
	ck_assert(torch_found());
	ck_assert_uint_eq(fake->disabled[OP], 0);
	ck_assert_uint_eq(fake->enabled[OP], 0);
}
END_TEST

START_TEST(torch_may_come_late)
{
	start(false);
	errno = ENOENT;
	ck_assert(!torch_found());
	ck_assert(!torch_found());
	ck_assert_int_eq(errno, ENOENT);
	library_map("new", "libtorch_cpu.so.2.8.0", NULL);
	ck_assert(torch_found());
	ck_assert_uint_eq(fake->added, 2);
}
END_TEST

START_TEST(a_library_that_lacks_a_function_is_left_alone)
{
	start(false);
	library_map("half", "libtorch_cpu.so.2.8.0", NULL);
	ck_assert(!torch_found());
	ck_assert(!torch_found());
	ck_assert(!torch_known());
	ck_assert_uint_eq(fake->added, 0);
}
END_TEST

START_TEST(operators_are_switched_when_that_changes)
{
	begin();
	for (unsigned i = 0; i < 2; i++)
		torch_observe(true);
	ck_assert_uint_eq(fake->enabled[OP], 1);
	for (unsigned i = 0; i < 2; i++)
		torch_observe(false);
	ck_assert_uint_eq(fake->disabled[OP], 2);
}
END_TEST

START_TEST(a_parent_is_as_it_was_after_a_fork)
{
	begin();
	torch_observe(_i);
	torch_fork_prepare();
	ck_assert_uint_eq(fake->enabled[OP], 1);
	ck_assert_uint_eq(fake->constructed, 1);
	ck_assert_uint_eq(fake->destroyed, 1);
	torch_fork_parent();
	ck_assert_uint_eq(fake->disabled[OP], _i ? 1 : 2);
	torch_fork_parent();
	ck_assert_uint_eq(fake->disabled[OP], _i ? 1 : 2);
}
END_TEST

/* Libtorch's lock may be held for ever in the child: nothing is switched on there. */
START_TEST(a_child_is_born_with_operators_on)
{
	begin();
	torch_fork_prepare();
	torch_fork_child();
	torch_observe(true);
	ck_assert_uint_eq(fake->enabled[OP], 1);
	torch_observe(false);
	ck_assert_uint_eq(fake->disabled[OP], 2);
	torch_fork_parent();
	ck_assert_uint_eq(fake->disabled[OP], 2);
}
END_TEST

START_TEST(children_that_are_not_recorded_are_left_alone)
{
	begin();
	config.children = false;
	torch_fork_prepare();
	torch_fork_parent();
	ck_assert_uint_eq(fake->enabled[OP], 0);
	ck_assert_uint_eq(fake->constructed, 0);
	ck_assert_uint_eq(fake->disabled[OP], 1);
}
END_TEST

/* ---- memory.c: torch's own profiler hears what it would hear without us ---- */

START_TEST(reports_go_on_to_torch)
{
	begin();
	config.profile_memory = _i;
	memory_start(&config);
	ck_assert_int_eq(memory_enabled(), _i);
	fake->profiling = true;
	ck_assert(memory_enabled());
	memory_report(fake, 1, 2, 3, 0);
	memory_exhausted(1, 2, 3, 0);
	memory_exhausted(1, 2, 3, 0);
	ck_assert_uint_eq(fake->reports, 1);
	ck_assert_uint_eq(fake->exhausted, 2);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("torch");

	tcase_add_loop_test(tc, two_callbacks_are_registered_once, 0, 2);
	tcase_add_test(tc, a_window_that_is_open_already_has_operators);
	tcase_add_test(tc, torch_may_come_late);
	tcase_add_test(tc, a_library_that_lacks_a_function_is_left_alone);
	tcase_add_test(tc, operators_are_switched_when_that_changes);
	tcase_add_loop_test(tc, a_parent_is_as_it_was_after_a_fork, 0, 2);
	tcase_add_test(tc, a_child_is_born_with_operators_on);
	tcase_add_test(tc, children_that_are_not_recorded_are_left_alone);
	tcase_add_loop_test(tc, reports_go_on_to_torch, 0, 2);
	return unit_run(tc, "torch");
}
