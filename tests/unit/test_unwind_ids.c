/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of stacks, and what is kept to find them quickly. */
#include "agent/core/spool_view.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unwind_look.h"

#include <pthread.h>
#include <unistd.h>

static struct cycle_info info;

static __attribute__((noinline)) uint32_t id_here(int depth)
{
	volatile uint32_t id = depth ? id_here(depth - 1) : unwind_stack(&info, 0);

	return id;
}

START_TEST(a_stack_has_an_id_and_only_that)
{
	struct stack_frame f[STACKS_MOST];
	char exe[4096] = { 0 };
	struct spool_view v;
	uint32_t id[60];
	unsigned flags;

	start();
	for (int round = 0; round < 300; round++)
		for (int i = 0; i < 60; i++) {
			uint32_t now = id_here(i);

			id[i] = round ? id[i] : now;
			if (!now || id[i] != now || (i && id[i - 1] == now))
				ck_abort_msg("%u, not %u", now, id[i]);
			if (i == 30 && round % 50 == 49)
				unwind_unmapped();
		}
	unwind_settle(&info);
	ck_assert_uint_eq(info.heap[HEAP_STACKS], 300 * 60);
	ck_assert_uint_eq(info.heap[HEAP_CHECKED], UNWIND_TRUSTED + 8);
	ck_assert_uint_eq(info.heap[HEAP_DISAGREED], 0);
	ck_assert_uint_eq(info.heap[HEAP_ENDED], 0);
	ck_assert_uint_eq(info.heap[HEAP_FOREIGN], 0);
	ck_assert_uint_eq(info.heap[HEAP_UNKNOWN_STACK], 0);
	spool_view_init(&v, spool.base, spool.head->cap);
	ck_assert_int_gt(readlink("/proc/self/exe", exe, sizeof(exe) - 1), 0);
	for (int i = 1; i < 40; i++) {
		unsigned n = stacks_get(&v, id[i], f, STACKS_MOST, &flags);
		const struct stack_module *m = stacks_module_get(&v, f[1].module);

		ck_assert_uint_gt(n, (unsigned)i + 3);
		ck_assert_ptr_nonnull(m);
		ck_assert_str_eq(m->path, exe);
		/* What lies outside of id_here's few instructions is its caller. */
		for (int k = 2; k <= i; k++)
			ck_assert_uint_eq(f[k].offset, f[1].offset);
		ck_assert_uint_lt(f[1].offset + m->bias - (uintptr_t)id_here, 200);
	}
}
END_TEST

START_TEST(a_stack_deeper_than_wanted_is_cut)
{
	struct stack_frame f[STACKS_MOST];
	struct spool_view v;
	unsigned flags;

	start();
	unwind_start(10, false);
	spool_view_init(&v, spool.base, spool.head->cap);
	ck_assert_uint_eq(stacks_get(&v, id_here(20), f, 10, &flags), 10);
	ck_assert_uint_eq(flags, STACK_CUT);
	unwind_settle(&info);
	ck_assert_uint_eq(info.heap[HEAP_CUT], 1);
	look(0);
	unwind_start(mine.depth + 2, false);
	ck_assert_uint_eq(stacks_get(&v, id_here(1), f, STACKS_MOST, &flags),
			  mine.depth + 1);
	ck_assert_uint_eq(flags, 0);
}
END_TEST

/* A rule that is wrong is found out by a check, and forgotten. */
START_TEST(a_wrong_rule_is_found_out)
{
	uint32_t id[250];

	start();
	unwind_rule_keep((uintptr_t)__builtin_return_address(0) - 1, unwind_epoch,
			 RULE(RULE_SP, 8, 0, BP_SAME, 0));
	for (int i = 0; i < 250; i++)
		id[i] = id_here(10);
	ck_assert_uint_eq(id[10], id[0]);
	ck_assert_uint_ne(id[110], id[0]);
	ck_assert_uint_eq(info.heap[HEAP_DISAGREED], 1);
	ck_assert_uint_eq(id[249], id[110]);
}
END_TEST

/* A thread whose walks were right ten thousand times is asked seldom; behind one that was
 * wrong as often as at first. */
START_TEST(trust_is_lost_by_a_wrong_walk)
{
	uint64_t checked;
	int walks = 0;

	start();
	while (info.heap[HEAP_CHECKED] < UNWIND_TRUSTED)
		id_here(10);
	unwind_unmapped();
	unwind_rule_keep((uintptr_t)__builtin_return_address(0) - 1, unwind_epoch,
			 RULE(RULE_SP, 8, 0, BP_SAME, 0));
	while (!info.heap[HEAP_DISAGREED] && walks++ <= UNWIND_CHECK_TRUSTED)
		id_here(10);
	ck_assert_int_gt(walks, UNWIND_CHECK_TRUSTED / 2);
	ck_assert_uint_eq(info.heap[HEAP_DISAGREED], 1);
	checked = info.heap[HEAP_CHECKED];
	for (int i = 0; i < 3 * UNWIND_CHECK; i++)
		id_here(10);
	ck_assert_uint_ge(info.heap[HEAP_CHECKED], checked + 2);
}
END_TEST

/* The walk is the last one once more, and its numbers would be those that were: but they
 * are not there. */
START_TEST(a_stack_lies_in_the_spool_that_there_is)
{
	struct stack_frame f[STACKS_MOST];
	const struct stack_module *module;
	struct spool_view v;
	unsigned flags, depth[2];

	start();
	for (int i = 0; i < 2; i++) {
		if (i) {
			spool_forget();
			ck_assert_int_eq(spool_open(NULL, 64 << 20), 0);
			ck_assert_int_eq(spool_prepare(64 << 20), 0);
			stacks_many();
		}
		spool_view_init(&v, spool.base, spool.head->cap);
		depth[i] = stacks_get(&v, id_here(10), f, STACKS_MOST, &flags);
		ck_assert_uint_gt(depth[i], 12);
		for (int k = 2; k <= 10; k++)
			ck_assert_uint_eq(f[k].offset, f[1].offset);
		module = stacks_module_get(&v, f[1].module);
		ck_assert_ptr_nonnull(module);
		ck_assert_ptr_nonnull(strstr(module->path, "test_unwind_ids"));
	}
	ck_assert_uint_eq(depth[0], depth[1]);
}
END_TEST

/* What its parent has counted, and not told, is not the child's. */
START_TEST(a_child_counts_its_own_stacks)
{
	struct cycle_info childs = { 0 };

	start();
	for (int i = 0; i < 10; i++)
		id_here(1);
	unwind_fork_child();
	unwind_settle(&childs);
	ck_assert_uint_eq(childs.heap[HEAP_STACKS], 0);
	id_here(1);
	unwind_settle(&childs);
	ck_assert_uint_eq(childs.heap[HEAP_STACKS], 1);
}
END_TEST

/* ---- the walk that begins with what is known of the last one ---- */

static struct unwind_result near_result;

static __attribute__((noinline)) bool near_here(int depth)
{
	static struct unwind_frame frame[STACKS_MOST + 200];
	static uintptr_t bp[STACKS_MOST + 200];
	static struct unwind_near near = { .room = STACKS_MOST + 200,
					   .matter = STACKS_MOST + 200,
					   .frame = frame,
					   .bp = bp };
	volatile bool known = depth ? near_here(depth - 1)
				    : unwind_near(UNWIND_CALLER, &near, &near_result);

	return known;
}

START_TEST(what_was_known_before_dlclose_is_not_believed)
{
	uintptr_t ends_here = (uintptr_t)__builtin_return_address(0);
	unsigned before = 0;

	start();
	for (int i = 0; i < 2; i++) {
		if (i) {
			unwind_unmapped();
			unwind_rule_keep(ends_here - 1, unwind_epoch, RULE_OUTERMOST);
		}
		ck_assert(near_here(5));
		before = i ? before : near_result.depth;
	}
	ck_assert_uint_lt(near_result.depth, before);
}
END_TEST

START_TEST(a_stack_deeper_than_all_tables_is_not_kept)
{
	start();
	ck_assert(near_here(STACKS_MOST / 2));
	ck_assert(!near_here(STACKS_MOST + 20));
	ck_assert(near_here(STACKS_MOST / 2));
}
END_TEST

static _Atomic bool over;
static void *hammer(void *arg)
{
	uint32_t id[50] = { 0 };

	(void)arg;
	thread_new();
	while (!over)
		for (int i = 0; i < 50; i++) {
			uint32_t now = id_here(i);

			if (id[i] && id[i] != now)
				ck_abort_msg("%u was %u", now, id[i]);
			id[i] = now;
		}
	return NULL;
}

START_TEST(threads_walk_while_code_comes_and_goes)
{
	pthread_t t[4];

	start();
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, hammer, NULL);
	for (int i = 0; i < 300000; i++) /* the epoch's number comes again */
		unwind_unmapped();
	usleep(100000);
	over = true;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(info.heap[HEAP_DISAGREED], 0);
	ck_assert_uint_gt(info.heap[HEAP_CHECKED], 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind ids");

	tcase_add_test(tc, a_stack_has_an_id_and_only_that);
	tcase_add_test(tc, a_stack_deeper_than_wanted_is_cut);
	tcase_add_test(tc, a_wrong_rule_is_found_out);
	tcase_add_test(tc, trust_is_lost_by_a_wrong_walk);
	tcase_add_test(tc, a_stack_lies_in_the_spool_that_there_is);
	tcase_add_test(tc, a_child_counts_its_own_stacks);
	tcase_add_test(tc, what_was_known_before_dlclose_is_not_believed);
	tcase_add_test(tc, a_stack_deeper_than_all_tables_is_not_kept);
	tcase_add_test(tc, threads_walk_while_code_comes_and_goes);
	return unit_run(tc, "unwind_ids");
}
