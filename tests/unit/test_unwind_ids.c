/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of stacks, and what is kept to find them quickly. */
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
	ck_assert_uint_eq(info.heap[HEAP_CHECKED], 180);
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
	tcase_add_test(tc, threads_walk_while_code_comes_and_goes);
	return unit_run(tc, "unwind_ids");
}
