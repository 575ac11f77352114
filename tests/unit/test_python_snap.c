/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of an interpreter that lies in this program's memory, laid out as 3.12 is. */
#include "tests/unit/python_ops.h"

START_TEST(a_stack_is_what_the_frames_are)
{
	uint32_t id;

	setup(16 << 20);
	id = whole_op();
	ck_assert_uint_eq(flags, OP_STACK);
	ck_assert_str_eq(text_of(id), "function2_3(20) function1_2(20) function0_1(20) ");
	ck_assert_uint_eq(whole_op(), id);
	put_frame(2, 2, 22);
	ck_assert_uint_ne(whole_op(), id);
	ck_assert_str_eq(text_of(whole_op()),
			 "function2_3(22) function1_2(20) function0_1(20) ");
	put_frame(2, 2, 20);
	ck_assert_uint_eq(whole_op(), id);
	put_frame(1, 1, 20);
	ck_assert_str_eq(text_of(whole_op()), "function1_2(20) function0_1(20) ");
	put_frame(2, 2, 20);
	ck_assert_uint_eq(whole_op(), id);
}
END_TEST

/* The same callee at the same place, but called by another. */
START_TEST(the_outer_frames_count)
{
	uint32_t id;

	setup(16 << 20);
	id = whole_op();
	put_frame(0, 5, 20);
	put_frame(1, 1, 20);
	put_frame(2, 2, 20);
	ck_assert_uint_ne(whole_op(), id);
	ck_assert_str_eq(text_of(whole_op()),
			 "function2_3(20) function1_2(20) function5_6(20) ");
}
END_TEST

START_TEST(code_at_an_old_address_is_other_code)
{
	uint32_t id;

	setup(16 << 20);
	id = whole_op();
	make_code(2, 99);
	ck_assert_uint_eq(whole_op(), id); /* nobody has said so */
	freed_add(&code[7]);
	ck_assert_uint_eq(whole_op(), id);
	for (unsigned i = 0; i < (_i ? FREED_KEPT : 0); i++)
		freed_add(&code[7]);
	freed_add(&code[2]);
	ck_assert_uint_ne(whole_op(), id);
	ck_assert_str_eq(text_of(whole_op()),
			 "function2_99(20) function1_2(20) function0_1(20) ");
}
END_TEST

START_TEST(what_has_gone_is_told_once)
{
	const void *gone[FREED_KEPT];
	uint32_t seen = freed_now();

	ck_assert_int_eq(freed_since(&seen, gone), 0);
	freed_add(&code[1]);
	freed_add(&code[2]);
	ck_assert_int_eq(freed_since(&seen, gone), 2);
	ck_assert_ptr_eq(gone[0], &code[1]);
	ck_assert_ptr_eq(gone[1], &code[2]);
	ck_assert_int_eq(freed_since(&seen, gone), 0);
	for (unsigned i = 0; i < FREED_KEPT; i++)
		freed_add(&code[i % 8]);
	ck_assert_int_eq(freed_since(&seen, gone), FREED_KEPT);
	for (unsigned i = 0; i < FREED_KEPT; i++)
		ck_assert_ptr_eq(gone[i], &code[i % 8]);
	for (unsigned i = 0; i <= FREED_KEPT; i++)
		freed_add(&code[0]);
	ck_assert_int_eq(freed_since(&seen, gone), -1);
	ck_assert_int_eq(freed_since(&seen, gone), 0);
}
END_TEST

/* What lies deeper than the code that has gone stays as it was. */
START_TEST(an_outer_frame_that_has_gone_takes_the_inner_ones_along)
{
	uint32_t id;

	setup(16 << 20);
	id = whole_op();
	make_code(1, 77);
	freed_add(&code[1]);
	ck_assert_uint_ne(whole_op(), id);
	ck_assert_str_eq(text_of(whole_op()),
			 "function2_3(20) function1_77(20) function0_1(20) ");
}
END_TEST

START_TEST(frames_of_c_and_early_ones_are_left_out)
{
	setup(16 << 20);
	put_frame(3, 3, 20);
	frame[1].owner = 3;
	frame[1].code = NULL;
	put_frame(4, 4, 2 * FIRST - 2);
	ck_assert_str_eq(text_of(whole_op()),
			 "function3_4(20) function2_3(20) function0_1(20) ");
	ck_assert_str_eq(text_of(whole_op()),
			 "function3_4(20) function2_3(20) function0_1(20) ");
	put_frame(0, 0, 0);
	ck_assert_uint_eq(whole_op(), 0);
	ck_assert_uint_eq(flags, 0);
}
END_TEST

START_TEST(of_deep_stacks_the_inner_frames_are_kept)
{
	struct spool_view view;
	uint32_t id;

	setup(64 << 20);
	for (unsigned n = 0; n < 3000; n++)
		put_frame(n, n % 8, 20 + 2 * (n % 5));
	id = whole_op();
	ck_assert_int_eq(spool_view_init(&view, spool.base, spool.head->cap), 0);
	ck_assert_uint_eq(stacks_depth(&view, id), STACKS_MOST);
	ck_assert_uint_eq(emit_info()->python[PYTHON_CUT], 1);
	ck_assert_uint_eq(whole_op(), id);
	innermost = &frame[511]; /* all of it is there now */
	ck_assert_uint_eq(stacks_depth(&view, whole_op()), STACKS_MOST);
	ck_assert_uint_eq(emit_info()->python[PYTHON_CUT], 2);
	ck_assert_uint_ne(whole_op(), id);
	/* The same frames and one more: what was whole is cut. */
	for (unsigned n = 0; n < 513; n++)
		put_frame(n, 0, 20);
	ck_assert_uint_ne(whole_op(), 0);
	ck_assert_uint_eq(emit_info()->python[PYTHON_CUT], 3);
	id = whole_op();
	frame[1].caller = NULL;
	ck_assert_uint_ne(whole_op(), id);
	ck_assert_uint_eq(emit_info()->python[PYTHON_CUT], 4);
}
END_TEST

START_TEST(what_is_inside_shares_the_stack)
{
	uint32_t outer_id, id;
	struct rec_op *outer, *inner;

	setup(16 << 20);
	outer = begin_op(REC_OP, &outer_id);
	inner = begin_op(REC_OP, &id);
	ck_assert_uint_eq(flags, OP_STACK | OP_SHARES);
	ck_assert_uint_eq(id, outer_id);
	inner->r.end = 1;
	put_frame(3, 3, 20); /* Python code runs inside of the operator */
	ck_assert_uint_ne(whole_op(), outer_id);
	ck_assert_uint_eq(flags, OP_STACK);
	innermost = &frame[2];
	outer->r.end = 1;
	ck_assert_uint_eq(whole_op(), outer_id);
	ck_assert_uint_eq(flags, OP_STACK);
}
END_TEST

/* The operator never told its end; Python has gone on, in the same function or in another
 * one that lies where that one lay. */
START_TEST(where_python_went_on_nothing_is_shared)
{
	uint32_t outer_id, id;

	setup(16 << 20);
	begin_op(REC_OP, &outer_id);
	put_frame(2, 2, 22);
	whole_op();
	ck_assert_uint_eq(flags, OP_STACK);
	begin_op(REC_OP, &outer_id);
	put_frame(3, 2, 22);
	id = whole_op();
	ck_assert_uint_eq(flags, OP_STACK);
	ck_assert_str_eq(text_of(id), "function2_3(22) function2_3(22) function1_2(20) "
				      "function0_1(20) ");
}
END_TEST

/* A record that is made anew is no operator around itself. */
START_TEST(what_was_undone_is_around_nothing)
{
	struct rec_op *op, *outer;
	uint32_t id;

	setup(16 << 20);
	op = begin_op(REC_OP, &id);
	snap_undo(thread_mine, &op->r);
	whole_op();
	ck_assert_uint_eq(flags, OP_STACK);
	/* One that is undone inside of another leaves that around. */
	outer = begin_op(REC_OP, &id);
	op = begin_op(REC_OP, &id);
	ck_assert_ptr_ne(op, outer);
	snap_undo(thread_mine, &op->r);
	whole_op();
	ck_assert_uint_eq(flags, OP_STACK | OP_SHARES);
}
END_TEST

/* Frames that are all C's, one behind the other in a ring. */
START_TEST(a_walk_ends)
{
	setup(16 << 20);
	for (unsigned n = 0; n < 3; n++)
		frame[n].owner = 3;
	frame[0].caller = &frame[2];
	ck_assert_uint_eq(whole_op(), 0);
}
END_TEST

/* `with record_function`: Python goes on inside of it. */
START_TEST(an_annotation_is_around_nothing)
{
	uint32_t id;

	setup(16 << 20);
	begin_op(REC_ANNOTATION, &id);
	ck_assert_uint_ne(id, 0);
	whole_op();
	ck_assert_uint_eq(flags, OP_STACK);
}
END_TEST

/* An operator that never ended, and a later window. */
START_TEST(another_window_begins_anew)
{
	uint32_t id;

	setup(16 << 20);
	begin_op(REC_OP, &id);
	gate_set(0, 0);
	open_window(2);
	ck_assert_uint_eq(whole_op(), id);
	ck_assert_uint_eq(flags, OP_STACK);
}
END_TEST

START_TEST(where_there_is_no_python_there_is_no_stack)
{
	setup(16 << 20);
	no_state = true;
	ck_assert_uint_eq(whole_op(), 0);
	no_state = false;
	finalizing = 1;
	ck_assert_uint_eq(whole_op(), 0);
	finalizing = 0;
	innermost = NULL;
	ck_assert_uint_eq(whole_op(), 0);
	ck_assert_uint_eq(flags, 0);
	ck_assert_uint_eq(emit_info()->python[PYTHON_UNKNOWN], 0);
}
END_TEST

START_TEST(a_full_spool_is_counted)
{
	uint32_t id = 1;

	setup(1 << 20);
	for (unsigned i = 0; id && i < 200000; i++) {
		put_frame(2, 2, 20 + 2 * i);
		id = whole_op();
	}
	ck_assert_uint_eq(id, 0);
	ck_assert_uint_eq(flags, 0);
	ck_assert_uint_ge(emit_info()->python[PYTHON_UNKNOWN], 1);
	put_frame(2, 2, 20);
	ck_assert_uint_ne(whole_op(), 0); /* what is there is found */
}
END_TEST

/* After fork the ids that a thread remembers are those of another spool. */
START_TEST(nothing_is_remembered_after_a_fork)
{
	uint32_t id;

	setup(16 << 20);
	id = whole_op();
	stacks_forget();
	codes_forget();
	ck_assert_uint_ne(whole_op(), id);
	ck_assert_str_eq(text_of(whole_op()),
			 "function2_3(20) function1_2(20) function0_1(20) ");
}
END_TEST

START_TEST(versions_have_their_rows)
{
	const char *why = NULL;

	ck_assert_ptr_nonnull(python_layout("3.8.18 (default)", &why));
	ck_assert_ptr_nonnull(python_layout("3.14.0rc1 (main)", &why));
	ck_assert_ptr_null(python_layout("3.7.16", &why));
	ck_assert_ptr_nonnull(why);
	ck_assert_ptr_null(python_layout("2.7.18", &why));
	ck_assert_ptr_null(python_layout("3.15.0a1", &why));
	ck_assert_ptr_null(
		python_layout("3.13.0 experimental free-threading build (main)", &why));
	ck_assert_ptr_nonnull(strstr(why, "free-threaded"));
	ck_assert_ptr_null(python_layout("", &why));
	ck_assert_ptr_null(python_layout("3.14.0a1 (main)", &why));
	ck_assert_ptr_null(python_layout("3.13.0b4+ (main)", &why));
	ck_assert_ptr_nonnull(python_layout("3.12.7+ (heads/3.12)", &why));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("snap");

	tcase_add_test(tc, a_stack_is_what_the_frames_are);
	tcase_add_test(tc, the_outer_frames_count);
	tcase_add_loop_test(tc, code_at_an_old_address_is_other_code, 0, 2);
	tcase_add_test(tc, what_has_gone_is_told_once);
	tcase_add_test(tc, an_outer_frame_that_has_gone_takes_the_inner_ones_along);
	tcase_add_test(tc, frames_of_c_and_early_ones_are_left_out);
	tcase_add_test(tc, of_deep_stacks_the_inner_frames_are_kept);
	tcase_add_test(tc, what_is_inside_shares_the_stack);
	tcase_add_test(tc, where_python_went_on_nothing_is_shared);
	tcase_add_test(tc, what_was_undone_is_around_nothing);
	tcase_add_test(tc, a_walk_ends);
	tcase_add_test(tc, an_annotation_is_around_nothing);
	tcase_add_test(tc, another_window_begins_anew);
	tcase_add_test(tc, where_there_is_no_python_there_is_no_stack);
	tcase_add_test(tc, a_full_spool_is_counted);
	tcase_add_test(tc, nothing_is_remembered_after_a_fork);
	tcase_add_test(tc, versions_have_their_rows);
	return unit_run(tc, "snap");
}
