/* SPDX-License-Identifier: Apache-2.0 */
/* Allocators of ours, and tools that have theirs before, behind and in front of them. */
#include "tests/unit/objects_bench.h"

/* In one of two places, by turns. */
static const struct allocator *with(const struct allocator *a, void *context)
{
	static struct allocator made[2];
	static unsigned n;

	made[++n % 2] = *a;
	made[n % 2].context = context;
	return &made[n % 2];
}

/* Each tool has a place of ours, which nobody else gets; its context stays. */
START_TEST(in_front_of_another_tool_they_have_a_place_of_their_own)
{
	struct allocator with_context = tool;

	setup_as(_i);
	with_context.context = &lock_held;
	put(&with_context);
	ck_assert_uint_gt(begin(1), 77);
	ck_assert(are_there(with(ours_of(1), &lock_held),
			    with(ours_of(1) + 1, &lock_held)));
	ck_assert(same_functions(next_of(1), &tool));
	ck_assert(same_functions(next_of(1) + 1, &tool));
	ck_assert(!end());
	ck_assert(!says(last, PYTHON_UNSEEN));
	ck_assert(are_there(&with_context, &with_context));
	runtime.there[0] = pools; /* of the objects alone */
	ck_assert_uint_gt(begin(2), 77);
	ck_assert(are_there(ours_of(2), with(ours_of(1) + 1, &lock_held)));
	ck_assert(same_functions(next_of(2), &pools));
	ck_assert(!end());
	ck_assert(are_there(&pools, &with_context));
	with_context.context = &initialised;
	put(&with_context); /* the same tool once more */
	ck_assert_uint_gt(begin(3), 77);
	ck_assert(are_there(with(ours_of(1), &initialised),
			    with(ours_of(1) + 1, &initialised)));
	ck_assert(!end());
	ck_assert(are_there(&with_context, &with_context));
}
END_TEST

START_TEST(where_no_place_is_left_nothing_is_exchanged)
{
	struct allocator other = tool;

	setup_as(_i);
	for (unsigned n = 1; n < ALLOCATORS_PLACES; n++) {
		other.free = (void *)(uintptr_t)n;
		put(&other);
		ck_assert_uint_gt(begin(n), 77);
		ck_assert(!end());
	}
	other.free = (void *)(uintptr_t)ALLOCATORS_PLACES;
	put(&other);
	ck_assert_uint_eq(begin(ALLOCATORS_PLACES), 0);
	ck_assert(are_there(&other, &other));
	ck_assert(!end());
	ck_assert(says(last, PYTHON_UNSEEN));
	put(&pools); /* the interpreter says that they are its own */
	objects_look();
	ck_assert_uint_gt(begin(100), 77);
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
	ck_assert(!end());
}
END_TEST

/* A tool begins within a window, and calls ours from then on, which are never what ours
 * call: those in front of it have a place of their own. Behind its context it shows what
 * it has found, or not. */
START_TEST(a_tool_in_front_of_ours_is_never_behind_the_same)
{
	struct allocator found, mine = tool;
	bool shows = _i % 2;

	setup_as(_i / 2);
	begin(1);
	found = runtime.there[1];
	mine.context = shows ? &found : NULL;
	runtime.there[1] = mine;
	ck_assert_int_eq(end(), !shows);
	ck_assert(are_there(&pools, &mine));
	for (unsigned n = 2; n < 6; n++) {
		ck_assert_uint_gt(begin(n), 77);
		ck_assert(are_there(ours_of(0), with(ours_of(1) + 1, mine.context)));
		ck_assert(same_functions(next_of(1) + 1, &mine));
		ck_assert(!end());
		ck_assert(are_there(&pools, &mine));
		ck_assert(same_functions(next_of(0), &pools));
	}
	begin(6);
	runtime.there[1] = found; /* it puts back what it had found, which goes on */
	ck_assert(!end());
	ck_assert(are_there(&pools, &pools));
	begin(7);
	runtime.there[1] = mine;
	end();
	runtime.there[1] = found; /* between windows */
	ck_assert_uint_gt(begin(8), 77);
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
	ck_assert(!end());
	ck_assert(are_there(&pools, &pools));
}
END_TEST

/* Some of what it has found were ours, some not yet: what it puts back is put right. */
START_TEST(a_tool_that_has_found_half_of_ours_leaves_none)
{
	setup_as(_i);
	begin(1);
	end();
	runtime.there[0].malloc = ours_of(0)->malloc;
	runtime.there[1].free = ours_of(0)[1].free;
	ck_assert_uint_gt(begin(2), 77);
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
	ck_assert(!end());
	ck_assert(are_there(&pools, &pools));
}
END_TEST

/* What was put back after a window goes at its first call; but not what the next window
 * has put there. */
START_TEST(what_a_tool_puts_back_later_goes_at_its_first_call)
{
	struct cycle_info *info;

	setup_as(_i);
	begin(1);
	end();
	runtime.there[0] = ours_of(0)[0];
	runtime.there[1] = ours_of(0)[1];
	objects_idle(ours_of(1)); /* of another place: behind a tool */
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
	objects_idle(ours_of(0) + 1);
	ck_assert(are_there(&pools, &pools));
	begin(2);
	info = bench_info();
	gate_set(0, 0);
	objects_idle(ours_of(0));
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
	objects_ended(info);
	ck_assert(!says(info, PYTHON_EXCHANGED));
	ck_assert(are_there(&pools, &pools));
}
END_TEST

START_TEST(a_tool_that_takes_ours_away_is_seen)
{
	struct cycle_info *info;

	setup_as(_i);
	begin(1);
	runtime.there[0] = pools; /* of one domain alone */
	ck_assert(end());
	begin(2);
	put(&pools);
	/* The next window has begun before anybody looks. */
	info = bench_info();
	ck_assert_uint_gt(begin(3), 77);
	ck_assert(are_there(ours_of(0), ours_of(0) + 1));
	objects_ended(info);
	ck_assert(says(info, PYTHON_EXCHANGED));
	ck_assert(!end());
}
END_TEST

/* Debug hooks that look whether they are there find ours, and take them for what is to be
 * behind them. */
START_TEST(debug_hooks_that_have_ours_behind_them_are_left_alone)
{
	struct {
		uintptr_t letter;
		struct allocator behind;
	} mem = { 'm', pools }, object = { 'o', pools };
	struct allocator hooks[ALLOCATORS_DOMAINS] = { tool, tool };
	const struct allocator_behind *b;

	setup_as(_i);
	hooks[0].context = &mem;
	hooks[1].context = &object;
	memcpy(runtime.there, hooks, sizeof(hooks));
	for (unsigned n = 1; n < 3; n++) {
		ck_assert_uint_gt(begin(n), 77);
		b = next_of(1)[1].context;
		ck_assert_ptr_eq(b->at, &object.behind);
		ck_assert(!memcmp(&b->was, &pools, sizeof(pools)));
		ck_assert(!end());
	}
	begin(3);
	object.behind = runtime.there[1];
	runtime.there[1] = hooks[1];
	ck_assert(end());
	ck_assert_uint_eq(begin(4), 0);
	ck_assert(are_there(&hooks[0], &hooks[1]));
	ck_assert(!end());
	ck_assert(says(last, PYTHON_UNSEEN));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("python_allocators");

	OLD_AND_NEW(in_front_of_another_tool_they_have_a_place_of_their_own);
	OLD_AND_NEW(where_no_place_is_left_nothing_is_exchanged);
	tcase_add_loop_test(tc, a_tool_in_front_of_ours_is_never_behind_the_same, 22, 26);
	OLD_AND_NEW(a_tool_that_has_found_half_of_ours_leaves_none);
	OLD_AND_NEW(what_a_tool_puts_back_later_goes_at_its_first_call);
	OLD_AND_NEW(a_tool_that_takes_ours_away_is_seen);
	OLD_AND_NEW(debug_hooks_that_have_ours_behind_them_are_left_alone);
	return unit_run(tc, "python_allocators");
}
