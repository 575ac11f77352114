/* SPDX-License-Identifier: Apache-2.0 */
/* What is there for one operator in thousands: no memory, another thread's end, a layout
 * that is none. */
#include "agent/core/chunk.h"
#include "agent/core/cost.h"
#include "agent/core/rare.h"
#include "base/arena.h"
#include "base/sys.h"
#include "tests/unit/observe_bench.h"

#include <pthread.h>

static struct cycle_info *info(void)
{
	return (struct cycle_info *)(chunk_at(atomic_load(&gate->cycle_at)) + 1);
}

/* ---- observers ---- */

/* 32 contexts are made at once; then there is nothing to make the next of. */
START_TEST(an_operator_without_a_context_is_counted)
{
	void *context[64];
	unsigned n = 0;

	setup(false, false);
	open_window(1);
	end(op_begin());
	sys_no_maps = true;
	for (size_t size = 1 << 16; size >= 16; size /= 2)
		while (arena_alloc(size))
			;
	while (n < 64 && (context[n] = op_begin()))
		n++;
	ck_assert_uint_eq(n, 32);
	ck_assert_uint_eq(info()->drops[REC_OP], 1);
	ck_assert_uint_eq(info()->whys[DROP_CAP], 1);
	ck_assert_uint_eq(atomic_load(&thread_mine->emitting), 0);
	end(context[0]);
	ck_assert_ptr_eq(op_begin(), context[0]);
	ck_assert_uint_eq(info()->drops[REC_OP], 1);
}
END_TEST

static void *end_it(void *context)
{
	observe_end(rf, context);
	return thread_mine;
}

/* Each is one that our own cost was measured of, or near it; the thread has no state. */
START_TEST(an_operator_ends_on_a_thread_that_has_nothing)
{
	unsigned measured = 0;
	pthread_t thread;
	void *state;

	setup(false, false);
	open_window(1);
	for (unsigned i = 0; i < 70; i++) {
		void *context = op_begin();

		measured += emit_info()->cost[COST_OP].samples != 0;
		gate_set(0, 0);
		ck_assert_int_eq(pthread_create(&thread, NULL, end_it, context), 0);
		pthread_join(thread, &state);
		ck_assert_ptr_null(state);
		open_window(i + 2);
	}
	ck_assert_uint_ge(measured, 1);
}
END_TEST

/* ---- layouts ---- */

static uint64_t one(const void *p)
{
	(void)p;
	return 1;
}

/* {begin, end, capacity} of a list, in sixteens: which can be one? */
START_TEST(a_list_ends_behind_its_begin_and_within_its_room)
{
	static const struct {
		int64_t end, cap;
		bool fine;
	} rows[] = {
		{ 0, 0, true },     { 16, 16, true },    { 16, 64, true },
		{ -16, 64, false }, { 64, 16, false },   { 8, 16, false },
		{ 16, 0, false },   { -16, -16, false },
	};
	struct abi_value value = { .u.i = 1, .tag = 5 };
	struct abi_value in = { .tag = l->bool_tag + 4u };
	uint8_t *list;

	setup(true, false);
	list = image_list(l, &value, 1, other_type);
	put_word(list, l->list_at + 8u, (uintptr_t)&value + (uint64_t)rows[_i].end);
	put_word(list, l->list_at + 16u, (uintptr_t)&value + (uint64_t)rows[_i].cap);
	in.u.p = list;
	image_operator(l, rf, image_schema(l, "aten::sum", ""), &in, 1);
	abi.settled = 0;
	abi.values = ABI_UNKNOWN;
	abi.list_at = 0;
	abi.bool_asked = true;
	abi.num_inputs = one;
	learn_event(rf, true);
	ck_assert_uint_eq(abi.list_at, rows[_i].fine ? l->list_at : 0);
	ck_assert_int_eq(abi.values == ABI_OFF, !rows[_i].fine);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("observe edges");

	tcase_add_test(tc, an_operator_without_a_context_is_counted);
	tcase_add_test(tc, an_operator_ends_on_a_thread_that_has_nothing);
	tcase_add_loop_test(tc, a_list_ends_behind_its_begin_and_within_its_room, 0, 8);
	return unit_run(tc, "observe edges");
}
