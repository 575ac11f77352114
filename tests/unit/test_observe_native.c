/* SPDX-License-Identifier: Apache-2.0 */
/* Native stacks of operators and annotations, in a process without Python. */
#include "agent/core/record_stack.h"
#include "agent/core/stacks.h"
#include "agent/torch/called.h"
#include "tests/unit/observe_bench.h"

#include <pthread.h>

static uintptr_t frames[STACKS_MOST]; /* addresses, innermost first */

static void begin_with(uint32_t stacks, bool inputs)
{
	static struct config config;

	config_defaults(&config);
	config.native_stacks = stacks;
	bench_native = called_start(&config);
	setup(inputs, false);
	open_window(1);
}

static void begin(bool inputs)
{
	begin_with(1u << NATIVE_OPS, inputs);
}

/* The operator or annotation that has begun last. */
static const struct rec_op *last(void)
{
	const uint8_t *p = (const uint8_t *)(thread_mine->chunk + 1);
	const uint8_t *stop =
		(const uint8_t *)thread_mine->chunk + thread_mine->chunk->used;
	const struct rec_op *op = NULL;

	for (; p < stop; p += ((const struct record *)p)->units * 8u)
		if (((const struct record *)p)->kind == REC_OP ||
		    ((const struct record *)p)->kind == REC_ANNOTATION)
			op = (const struct rec_op *)p;
	return op;
}

/* How many frames the last one's stack has; 0: none. */
static unsigned native(void)
{
	const struct op_stack *s = op_stack(last());
	struct stack_frame f[STACKS_MOST];
	struct spool_view v;
	unsigned n, flags;

	if (!s)
		return 0;
	ck_assert_uint_eq(s->python, 0);
	ck_assert_uint_eq(last()->r.flags & OP_SHARES, 0);
	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	n = stacks_get(&v, s->native, f, STACKS_MOST, &flags);
	for (unsigned i = 0; i < n; i++) {
		const struct stack_module *m = stacks_module_get(&v, f[i].module);

		frames[i] = f[i].offset + (m ? m->bias : 0);
	}
	return n;
}

/* Is a frame of the stack in the bytes from a function's begin on? */
static bool is_called_by(void *function)
{
	for (unsigned i = 0, n = native(); i < n; i++)
		if (frames[i] - (uintptr_t)function < 256)
			return true;
	return false;
}

static __attribute__((noinline)) void *one_function(void)
{
	void *context = op_begin();

	__asm__ volatile("" : : : "memory");
	return context;
}

static __attribute__((noinline)) void *other_function(void)
{
	void *context = op_begin();

	__asm__ volatile("" : : : "memory");
	return context;
}

START_TEST(an_operator_has_who_called_it)
{
	void *context;

	begin(_i);
	for (unsigned i = 0; i < 3; i++) {
		context = one_function();
		ck_assert(is_called_by((void *)one_function));
		ck_assert(!is_called_by((void *)other_function));
		end(context);
		context = other_function();
		ck_assert(is_called_by((void *)other_function));
		end(context);
	}
	ck_assert_uint_eq(emit_info()->heap[HEAP_DISAGREED], 0);
}
END_TEST

START_TEST(one_inside_of_another_has_none)
{
	void *outer, *inner, *note;

	begin(_i);
	outer = one_function();
	ck_assert_uint_gt(native(), 1);
	inner = other_function();
	ck_assert_uint_eq(native(), 0);
	ck_assert_uint_eq(last()->r.flags & OP_STACK, 0);
	note = note_begin();
	ck_assert_uint_gt(native(), 1);
	end(note);
	end(inner);
	end(other_function());
	ck_assert_uint_eq(native(), 0);
	end(outer);
	end(other_function());
	ck_assert_uint_gt(native(), 1);
}
END_TEST

/* Operators go on inside of an annotation. */
START_TEST(an_annotation_is_around_nothing)
{
	void *note;

	begin(false);
	note = note_begin();
	ck_assert_uint_gt(native(), 1);
	end(one_function());
	ck_assert(is_called_by((void *)one_function));
	end(note);
}
END_TEST

/* Its record is made once more, where there is room for the inputs. */
START_TEST(one_with_many_inputs_is_not_inside_of_itself)
{
	static struct abi_value v[6000];

	begin(true);
	end(one_function());
	for (size_t i = 0; i < 6000; i++)
		v[i] = (struct abi_value){ .u.d = 0.1, .tag = 3 };
	image_operator(l, rf, image_schema(l, "aten::stack", ""), v, 6000);
	end(other_function());
	ck_assert_uint_eq(last()->r.flags, OP_INPUTS | OP_STACK);
	ck_assert(is_called_by((void *)other_function));
}
END_TEST

START_TEST(what_never_ended_is_around_nothing_later)
{
	begin(false);
	one_function();
	gate_set(0, 0);
	open_window(2);
	other_function();
	ck_assert(is_called_by((void *)other_function));
}
END_TEST

static void *leave_one_open(void *has)
{
	one_function();
	*(bool *)has = is_called_by((void *)one_function);
	return thread_mine;
}

/* A thread of autograd's; and one that has that one's state, which ended within an
 * operator. */
START_TEST(each_thread_for_itself)
{
	bool has;
	pthread_t thread;
	void *state[2];

	begin(false);
	one_function();
	for (unsigned i = 0; i < 2; i++) {
		has = false;
		ck_assert_int_eq(pthread_create(&thread, NULL, leave_one_open, &has), 0);
		pthread_join(thread, &state[i]);
		ck_assert(has);
	}
	ck_assert_ptr_eq(state[0], state[1]);
}
END_TEST

START_TEST(errno_is_kept)
{
	begin(false);
	errno = EXDEV;
	end(one_function());
	ck_assert_int_eq(errno, EXDEV);
}
END_TEST

/* An option for launches and the heap alone. */
START_TEST(without_ops_there_is_none)
{
	begin_with(1u << NATIVE_CUDA | 1u << NATIVE_MALLOC, false);
	end(one_function());
	ck_assert_uint_eq(last()->r.flags, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("observe native");

	tcase_add_loop_test(tc, an_operator_has_who_called_it, 0, 2);
	tcase_add_loop_test(tc, one_inside_of_another_has_none, 0, 2);
	tcase_add_test(tc, an_annotation_is_around_nothing);
	tcase_add_test(tc, one_with_many_inputs_is_not_inside_of_itself);
	tcase_add_test(tc, what_never_ended_is_around_nothing_later);
	tcase_add_test(tc, each_thread_for_itself);
	tcase_add_test(tc, errno_is_kept);
	tcase_add_test(tc, without_ops_there_is_none);
	return unit_run(tc, "observe native");
}
