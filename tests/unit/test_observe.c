/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/cost.h"
#include "agent/core/rare.h"
#include "tests/unit/observe_bench.h"

/* What torch calls around an operator, without torch. */

/* ---- what was written ---- */

static const struct rec_op *nth(unsigned n)
{
	const uint8_t *p, *stop;

	if (!thread_mine || !thread_mine->chunk)
		return NULL;
	p = (const uint8_t *)(thread_mine->chunk + 1);
	stop = (const uint8_t *)thread_mine->chunk + thread_mine->chunk->used;
	for (; p < stop; p += ((const struct record *)p)->units * 8u)
		if ((((const struct record *)p)->kind == REC_OP ||
		     ((const struct record *)p)->kind == REC_ANNOTATION) &&
		    n-- == 0)
			return (const struct rec_op *)p;
	return NULL;
}

/* The quick way, the one without an invariant counter, and that with fences. */
static void choose_way(int way)
{
	if (way == 1)
		clock_kind = CLOCK_NS;
	gate_fences = way == 2;
}
#define WAYS 3

START_TEST(an_operator_is_recorded)
{
	setup(false, false);
	choose_way(_i);
	open_window(1);
	((uint8_t *)rf)[96] = 1;
	for (unsigned i = 0; i < 20; i++)
		end(op_begin());
	for (unsigned i = 0; i < 20; i++) {
		const struct rec_op *op = nth(i);

		ck_assert_ptr_nonnull(op);
		ck_assert_uint_eq(op->r.kind, REC_OP);
		ck_assert_uint_eq(op->r.flags, 0);
		ck_assert_uint_eq(op->r.name, nth(0)->r.name);
		ck_assert_uint_ne(op->r.name, 0);
		ck_assert_uint_ge(op->r.end, op->r.begin);
		ck_assert_int_eq(op->seq, 77);
		ck_assert_uint_eq(op->fwd_thread, 5);
		ck_assert_uint_eq(op->scope, 1);
	}
	ck_assert_ptr_null(nth(20));
	ck_assert_uint_eq(thread_mine->ordinal, 3);
}
END_TEST

START_TEST(what_is_not_known_yet_is_left_out)
{
	setup(false, false);
	choose_way(_i);
	open_window(1);
	abi.fwd_at = 0;
	for (unsigned i = 0; i < 4; i++) {
		end(op_begin());
		ck_assert_uint_eq(nth(i)->r.flags, OP_NO_SEQ);
		ck_assert_uint_eq(nth(i)->fwd_thread, 0);
	}
	abi.record = ABI_OFF;
	end(op_begin());
	ck_assert_uint_eq(nth(4)->r.flags, OP_NO_SEQ);
	ck_assert_int_eq(nth(4)->seq, -1);
}
END_TEST

START_TEST(nothing_is_recorded_outside_or_when_switched_off)
{
	setup(false, false);
	ck_assert_ptr_null(op_begin());
	ck_assert_ptr_null(note_begin());
	open_window(1);
	observe_collect(false);
	ck_assert_ptr_null(op_begin());
	ck_assert_ptr_null(note_begin());
	observe_end(rf, NULL);
	ck_assert_ptr_null(nth(0));
	observe_collect(true);
	end(op_begin());
	ck_assert_ptr_nonnull(nth(0));
}
END_TEST

/* An end that comes when the window is over is not written: it is the writer's. */
START_TEST(an_end_behind_the_window_is_not_written)
{
	void *context;

	setup(false, false);
	choose_way(_i);
	open_window(1);
	end(op_begin());
	context = op_begin();
	gate_set(0, 0);
	end(context);
	ck_assert_uint_ne(nth(0)->r.end, 0);
	ck_assert_uint_eq(nth(1)->r.end, 0);
}
END_TEST

/* ---- markers ---- */

START_TEST(a_marker_that_has_ended_does_not_end_again)
{
	setup(false, false);
	choose_way(_i);
	open_window(1);
	end(op_begin());
	sched_fake.token = 0x101;
	end(note_begin());
	for (unsigned i = 0; i < 4; i++)
		end(op_begin()); /* in the place that the annotation had */
	ck_assert_uint_eq(sched_fake.ended, 1);
}
END_TEST

START_TEST(a_marker_has_its_end_in_and_out_of_windows)
{
	setup(false, true);
	sched_fake.token = 0x101;
	end(note_begin());
	end(op_begin());
	ck_assert_uint_eq(sched_fake.ended, 2);
	ck_assert_ptr_null(nth(0));
	open_window(1);
	end(note_begin());
	end(op_begin());
	ck_assert_uint_eq(sched_fake.ended, 4);
	ck_assert_uint_eq(nth(0)->r.kind, REC_ANNOTATION);
	ck_assert_uint_ne(nth(0)->r.end, 0);
	ck_assert_uint_ne(nth(1)->r.end, 0);
}
END_TEST

START_TEST(whom_we_follow_is_looked_at_for_each_event)
{
	setup(false, false);
	end(op_begin());
	ck_assert_uint_eq(sched_fake.follows, 0);
	sched_fake.seen = UINT64_MAX; /* step 0 has not begun */
	end(op_begin());
	end(note_begin());
	ck_assert_uint_eq(sched_fake.follows, 2);
	sched_fake.seen = 1;
	sched_fake.word = 2;
	end(op_begin());
	ck_assert_uint_eq(sched_fake.follows, 3);
}
END_TEST

START_TEST(what_is_learnt_leaves_errno)
{
	setup(false, false);
	abi.settled = 0;
	abi.record = ABI_UNKNOWN;
	errno = ENOENT;
	end(op_begin());
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_uint_eq(abi.record, ABI_GOOD);
}
END_TEST

/* ---- inputs ---- */

static void with_numbers(size_t n)
{
	static struct abi_value v[20000];

	for (size_t i = 0; i < n; i++)
		v[i] = (struct abi_value){ .u.d = 0.1, .tag = 3 };
	image_operator(l, rf, image_schema(l, "aten::stack", ""), v, n);
	end(op_begin());
}

START_TEST(inputs_get_the_room_that_they_need)
{
	setup(true, false);
	choose_way(_i);
	open_window(1);
	for (unsigned i = 0; i < 3; i++)
		with_numbers(2);
	ck_assert_uint_eq(nth(2)->r.flags, OP_INPUTS);
	ck_assert_uint_eq(nth(2)->r.units, 5 + 3);
	with_numbers(6000); /* none of the first chunks has so much */
	ck_assert_uint_eq(nth(0)->r.flags, OP_INPUTS);
	ck_assert_uint_eq(nth(0)->r.units, 5 + (6000 * 9 + 8) / 8);
	with_numbers(20000);
	for (unsigned i = 0; i < 9 && nth(i); i++)
		if (nth(i)->r.units == 5)
			ck_assert_uint_eq(nth(i)->r.flags, OP_CUT);
	with_numbers(2);
}
END_TEST

START_TEST(inputs_that_fit_nowhere_are_cut)
{
	setup(true, false);
	open_window(1);
	with_numbers(20000);
	ck_assert_uint_eq(nth(0)->r.units, 5);
	ck_assert_uint_eq(nth(0)->r.flags, OP_CUT);
	ck_assert_uint_ne(nth(0)->r.end, 0);
}
END_TEST

/* ---- what it costs ---- */

static uint64_t op_samples(void)
{
	return emit_info()->cost[COST_OP].samples;
}

START_TEST(one_event_in_many_is_timed)
{
	uint64_t at_begin;

	setup(false, false);
	open_window(1);
	for (unsigned i = 0; i < 9; i++) /* a thread's first ones are cold */
		end(op_begin());
	ck_assert_uint_eq(op_samples(), 0);
	end(op_begin());
	ck_assert_uint_eq(op_samples(), 1);
	ck_assert_uint_ge(thread_mine->due, 1);
	ck_assert_uint_lt(thread_mine->due, 2 * COST_EVERY);
	thread_mine->due = 1;
	for (unsigned i = 0; i < 50 && thread_mine->due == 1; i++)
		(void)op_begin();
	at_begin = emit_info()->cost[COST_OP].ticks;
	thread_mine->due = 1000;
	for (unsigned i = 0; i < 50; i++) /* the same context, again and again */
		end(op_begin());
	ck_assert_uint_eq(emit_info()->cost[COST_OP].ticks, at_begin);
}
END_TEST

/* Its cost is more than its begin's. */
START_TEST(the_end_of_a_timed_event_is_timed)
{
	uint64_t ticks = 0;

	setup(false, false);
	open_window(1);
	end(op_begin());
	for (unsigned i = 0; i < 1000 && !ticks; i++) {
		uint64_t begun;
		void *context;

		thread_mine->due = 1;
		context = op_begin();
		begun = emit_info()->cost[COST_OP].ticks;
		end(context);
		ticks = emit_info()->cost[COST_OP].ticks - begun;
	}
	ck_assert_uint_gt(ticks, 0);
	ck_assert_uint_eq(emit_info()->cost[COST_NOTE].samples, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("observe");

	tcase_add_loop_test(tc, an_operator_is_recorded, 0, WAYS);
	tcase_add_loop_test(tc, what_is_not_known_yet_is_left_out, 0, WAYS);
	tcase_add_test(tc, nothing_is_recorded_outside_or_when_switched_off);
	tcase_add_loop_test(tc, a_marker_that_has_ended_does_not_end_again, 0, WAYS);
	tcase_add_loop_test(tc, an_end_behind_the_window_is_not_written, 0, WAYS);
	tcase_add_test(tc, a_marker_has_its_end_in_and_out_of_windows);
	tcase_add_test(tc, whom_we_follow_is_looked_at_for_each_event);
	tcase_add_test(tc, what_is_learnt_leaves_errno);
	tcase_add_loop_test(tc, inputs_get_the_room_that_they_need, 0, WAYS);
	tcase_add_test(tc, inputs_that_fit_nowhere_are_cut);
	tcase_add_test(tc, one_event_in_many_is_timed);
	tcase_add_test(tc, the_end_of_a_timed_event_is_timed);
	return unit_run(tc, "observe");
}
