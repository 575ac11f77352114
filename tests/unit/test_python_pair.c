/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that the interpreter contradicts, and those of allocations, of which it is not
 * asked. */
#include "agent/core/stack_pair.h"
#include "agent/python/check.h"
#include "agent/python/last.h"
#include "agent/python/pair.h"
#include "tests/unit/python_ops.h"

static bool lock_held, contradicted;

/* The interpreter's own answers, in place of check.c's. */
bool check_start(void)
{
	return true;
}

bool check_holds_lock(void)
{
	return lock_held;
}

const char *check_all(const struct walk *w, unsigned *frames)
{
	*frames = w->n;
	return NULL;
}

bool check_frames(const struct walk *w)
{
	(void)w;
	return !contradicted;
}

static void *held_by_another(void)
{
	return &code;
}

/* The thread has the interpreter's lock. */
static void begin_held(uint64_t cap)
{
	setup(cap);
	interpreter.holder = fake_state;
}

/* One in LAST_CHECK is compared, where the lock is held. */
START_TEST(a_stack_that_the_interpreter_contradicts_is_not_kept)
{
	begin_held(16 << 20);
	lock_held = true;
	for (unsigned i = 1; i < 2 * LAST_CHECK; i++)
		ck_assert_uint_ne(whole_op(), 0);
	ck_assert_uint_eq(emit_info()->python[PYTHON_CHECKED], 1);
	contradicted = true;
	put_frame(3, 3, 20);
	ck_assert_uint_eq(whole_op(), 0);
	ck_assert_uint_eq(flags, 0);
	ck_assert_uint_eq(emit_info()->python[PYTHON_CHECKED], 2);
	ck_assert_uint_eq(emit_info()->python[PYTHON_DISAGREED], 1);
	ck_assert_ptr_nonnull(interpreter_why());
}
END_TEST

static struct stack_pair take_pair(uint32_t native)
{
	struct thread *t = emit_enter(REC_ALLOC);
	struct spool_view v;
	uint32_t id;

	ck_assert_ptr_nonnull(t);
	ck_assert_ptr_nonnull(emit_reserve(t, REC_ALLOC, 32));
	id = pair_alloc(t, native);
	emit_leave(t);
	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	return stack_pair_get(&v, id);
}

static uint32_t native_stack(void)
{
	return stacks_add(0, (struct stack_frame){ .offset = 0x1234 }, 0, NULL);
}

START_TEST(an_allocation_has_both_stacks)
{
	struct stack_pair pair;
	uint32_t native;

	begin_held(16 << 20);
	native = native_stack();
	pair = take_pair(native);
	ck_assert_uint_eq(pair.native, native);
	ck_assert_str_eq(text_of(pair.python),
			 "function2_3(20) function1_2(20) function0_1(20) ");
	ck_assert_uint_eq(take_pair(native).python, pair.python);
	ck_assert_uint_eq(pair.python, whole_op());
	pair = take_pair(0);
	ck_assert_uint_eq(pair.native, 0);
	ck_assert_uint_ne(pair.python, 0);
}
END_TEST

START_TEST(without_python_the_native_stack_stays)
{
	uint32_t native;

	begin_held(16 << 20);
	native = native_stack();
	no_state = true;
	ck_assert_uint_eq(take_pair(native).native, native);
	ck_assert_uint_eq(take_pair(native).python, 0);
	ck_assert_uint_eq(take_pair(0).native, 0);
}
END_TEST

/* Inside of an operator no Python code has run since it began. */
START_TEST(an_operators_allocations_have_its_stack)
{
	struct rec_op *op;
	uint32_t id;

	begin_held(16 << 20);
	op = begin_op(REC_OP, &id);
	put_frame(1, 7, 20); /* nobody walks */
	put_frame(2, 2, 20);
	ck_assert_uint_eq(take_pair(0).python, id);
	op->r.end = 1;
	ck_assert_uint_ne(take_pair(0).python, id);
}
END_TEST

static uint32_t call_id(uint32_t native)
{
	struct thread *t = emit_enter(REC_STACK);
	uint32_t id;

	ck_assert_ptr_nonnull(t);
	ck_assert_ptr_nonnull(emit_reserve(t, REC_STACK, 32));
	id = pair_call(t, native);
	emit_leave(t);
	return id;
}

static struct stack_pair call_pair(uint32_t native)
{
	struct spool_view v;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	return stack_pair_get(&v, call_id(native));
}

/* A launch inside of an operator has the operator's line, and says it again where there
 * is a native stack beside it. */
START_TEST(a_launch_has_a_line_of_its_own_or_the_operators)
{
	struct rec_op *op;
	uint32_t id, native;

	begin_held(16 << 20);
	native = native_stack();
	op = begin_op(REC_OP, &id);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(call_pair(native).native, native);
		ck_assert_uint_eq(call_pair(native).python, id);
		ck_assert_uint_eq(call_id(0), 0);
		interpreter.holder = held_by_another; /* torch lets the lock go */
	}
	interpreter.holder = fake_state;
	put_frame(3, 3, 20); /* Python is called inside of it */
	ck_assert_uint_ne(call_pair(native).python, id);
	ck_assert_uint_ne(call_pair(native).python, 0);
	op->r.end = 1;
	put_frame(2, 2, 20);
	ck_assert_uint_eq(call_pair(native).native, native);
	ck_assert_uint_eq(call_pair(native).python, id);
	ck_assert_uint_eq(call_pair(0).python, id);
	interpreter.holder = held_by_another; /* and no operator is open */
	ck_assert_uint_eq(call_id(native), native);
	ck_assert_uint_eq(call_id(0), 0);
	ck_assert_uint_eq(emit_info()->python[PYTHON_LINELESS], 0);
}
END_TEST

/* What is allocated without the lock has the open operator's line, or none. */
START_TEST(what_has_no_line_is_counted)
{
	struct rec_op *op;
	uint32_t id;

	begin_held(16 << 20);
	op = begin_op(REC_OP, &id);
	interpreter.holder = held_by_another;
	ck_assert_uint_eq(take_pair(0).python, id);
	ck_assert_uint_eq(emit_info()->python[PYTHON_LINELESS], 0);
	op->r.end = 1;
	ck_assert_uint_eq(take_pair(0).python, 0);
	ck_assert_uint_eq(emit_info()->python[PYTHON_LINELESS], 1);
	no_state = true; /* a thread that Python does not know */
	ck_assert_uint_eq(take_pair(0).python, 0);
	ck_assert_uint_eq(emit_info()->python[PYTHON_LINELESS], 1);
}
END_TEST

/* The interpreter could end, and free what is read, but for the lock. */
START_TEST(unless_it_tells_of_its_end_only_its_holder_reads_it)
{
	begin_held(16 << 20);
	atomic_store(&interpreter_tells_end, false);
	interpreter.holder = held_by_another;
	ck_assert_uint_eq(whole_op(), 0);
	interpreter.holder = fake_state;
	ck_assert_uint_ne(whole_op(), 0);
	atomic_store(&interpreter_tells_end, true);
	interpreter.holder = held_by_another;
	ck_assert_uint_ne(whole_op(), 0);
}
END_TEST

/* Programs make states of their own: one may be another thread's by now, or gone. torch
 * lets the lock go in operators, whose stack is known. */
START_TEST(without_the_lock_only_an_operators_stack_is_taken)
{
	struct rec_op *op;
	uint32_t id;

	begin_held(16 << 20);
	interpreter.holder = held_by_another;
	ck_assert_uint_eq(take_pair(0).python, 0);
	op = begin_op(REC_OP, &id);
	innermost = NULL; /* nobody reads it */
	ck_assert_uint_eq(take_pair(0).python, id);
	ck_assert_uint_eq(call_id(0), 0);
	finalizing = 1;
	ck_assert_uint_eq(take_pair(0).python, 0);
	finalizing = 0;
	op->r.end = 1;
	ck_assert_uint_eq(take_pair(0).python, 0);
	interpreter.holder = no_holder;
	ck_assert_uint_eq(take_pair(0).python, 0);
}
END_TEST

/* The interpreter may be in the middle of anything. */
START_TEST(within_malloc_nothing_is_compared)
{
	begin_held(16 << 20);
	lock_held = contradicted = true;
	for (unsigned i = 0; i < 3 * LAST_CHECK; i++)
		ck_assert_uint_ne(take_pair(0).python, 0);
	ck_assert_uint_eq(emit_info()->python[PYTHON_CHECKED], 0);
	ck_assert_ptr_null(interpreter_why());
}
END_TEST

START_TEST(a_frame_without_a_code_object_ends_it)
{
	static const char type[1];
	uint32_t native;

	begin_held(16 << 20);
	native = native_stack();
	interpreter.code = type;
	for (unsigned i = 0; i < 8; i++)
		set_pointer(&code[i], LAYOUT_TYPE, type);
	ck_assert_uint_ne(take_pair(native).python, 0);
	put_frame(3, 3, 20);
	set_pointer(&code[3], LAYOUT_TYPE, code);
	ck_assert_uint_eq(take_pair(native).python, 0);
	ck_assert_uint_eq(take_pair(native).native, native);
	ck_assert_uint_eq(emit_info()->python[PYTHON_UNPROVEN], 2);
	ck_assert_uint_eq(emit_info()->python[PYTHON_UNKNOWN], 0);
	put_frame(2, 2, 20);
	ck_assert_uint_ne(take_pair(native).python, 0);
}
END_TEST

/* As deep as a native stack can be. */
START_TEST(a_pair_is_no_frame_more)
{
	uint32_t native = 0;

	begin_held(16 << 20);
	for (unsigned i = 0; i < STACKS_MOST; i++)
		native = stacks_add(native, (struct stack_frame){ .offset = i + 1 }, 0,
				    NULL);
	ck_assert_uint_ne(native, 0);
	ck_assert_uint_eq(take_pair(native).native, native);
	ck_assert_uint_ne(take_pair(native).python, 0);
}
END_TEST

START_TEST(a_full_spool_keeps_the_native_stack)
{
	struct stack_pair pair = { 0, 1 };
	uint32_t native;

	begin_held(1 << 20);
	native = native_stack();
	for (unsigned i = 0; pair.python && i < 200000; i++) {
		put_frame(2, 2, 20 + 2 * i);
		pair = take_pair(native);
		ck_assert_uint_eq(pair.native, native);
	}
	ck_assert_uint_eq(pair.python, 0);
	ck_assert_uint_ge(emit_info()->python[PYTHON_UNKNOWN], 1);
}
END_TEST

/* Whatever the number is. */
START_TEST(an_id_that_is_no_pair_is_a_native_one)
{
	struct spool_view v;

	begin_held(1 << 20);
	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	for (uint64_t id = 0; id <= UINT32_MAX; id += id < 300000 ? 1 : 9999991)
		if (!stack_pair_get(&v, (uint32_t)id).python)
			ck_assert_uint_eq(stack_pair_get(&v, (uint32_t)id).native, id);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("pair");

	tcase_add_test(tc, a_stack_that_the_interpreter_contradicts_is_not_kept);
	tcase_add_test(tc, an_allocation_has_both_stacks);
	tcase_add_test(tc, without_python_the_native_stack_stays);
	tcase_add_test(tc, an_operators_allocations_have_its_stack);
	tcase_add_test(tc, a_launch_has_a_line_of_its_own_or_the_operators);
	tcase_add_test(tc, what_has_no_line_is_counted);
	tcase_add_test(tc, unless_it_tells_of_its_end_only_its_holder_reads_it);
	tcase_add_test(tc, without_the_lock_only_an_operators_stack_is_taken);
	tcase_add_test(tc, within_malloc_nothing_is_compared);
	tcase_add_test(tc, a_frame_without_a_code_object_ends_it);
	tcase_add_test(tc, a_pair_is_no_frame_more);
	tcase_add_test(tc, a_full_spool_keeps_the_native_stack);
	tcase_add_test(tc, an_id_that_is_no_pair_is_a_native_one);
	return unit_run(tc, "pair");
}
