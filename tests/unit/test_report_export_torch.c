/* SPDX-License-Identifier: Apache-2.0 */
/* Lines as torch.profiler's export_stacks has them (profiler_util.py of torch 2.13). */
#include "tests/unit/export_trace.h"

#define LINES(by) exported(EXPORT_STACKS, EXPORT_##by)
#define STACK(s)  "\"Call stack\":\"" s "\""

START_TEST(a_line_for_each_event_in_their_order)
{
	op_with("a", 50, 10, STACK("f;m;"));
	slice(2, "cpu_op", "b", 5, 10, STACK("g"));
	op_with("a", 0, 10, STACK("f;m;"));
	op("none", 100, 10);
	ck_assert_str_eq(LINES(CPU), "m;f 10\ng 10\nm;f 10\n");
	ck_assert(found.values && found.stacks);
}
END_TEST

/* What is less than a microsecond has no line, what is more loses its fraction. */
START_TEST(times_are_whole_microseconds)
{
	op_with("a", 0, 0.999, STACK("f"));
	op_with("a", 10, 1, STACK("f"));
	op_with("a", 20, 2.999, STACK("f"));
	ck_assert_str_eq(LINES(CPU), "f 1\nf 2\n");
}
END_TEST

START_TEST(characters_of_a_frame)
{
	op_with("a", 0, 5, STACK("<f of g>\\t\\n;m x"));
	ck_assert_str_eq(LINES(CPU), "m_x;<f_of_g>__ 5\n");
}
END_TEST

/* The time of an operator inside is taken off, and it has the stack of the one around. */
START_TEST(what_is_inside_has_a_line_of_its_own)
{
	op_with("outer", 0, 100, STACK("f;m"));
	op("inner", 10, 30);
	ck_assert_str_eq(LINES(CPU), "m;f 70\nm;f 30\n");
}
END_TEST

/* A function of Python is an event, on the stack that called it. */
START_TEST(functions_of_python_are_events)
{
	python("m", 0, 100);
	python("f", 10, 50);
	op("aten::mm", 20, 30);
	ck_assert_str_eq(LINES(CPU), "m 20\nm;f 30\n");
}
END_TEST

#define MM  "autograd::engine::evaluate_function: MmBackward0"
#define FWD "\"Sequence number\":5,\"Fwd thread id\":1"

static void backward_of(const char *more)
{
	char args[256];

	snprintf(args, sizeof(args), FWD "%s", more);
	slice(2, "cpu_op", MM, 20, 40, args);
	slice(2, "cpu_op", "MmBackward0", 25, 30, FWD);
	slice(2, "cpu_op", "aten::mm", 30, 10, "");
}

/* On a thread of autograd's own, and a file of ours has the stack beside the engine's
 * part; whichever comes first. */
START_TEST(a_backward_operator_of_another_thread_has_its_forward_stack)
{
	static const char *const beside[] = {
		"", "," STACK("f;m") ",\"Call stack of\":\"forward operator\""
	};

	if (_i < 2)
		backward_of(beside[_i % 2]);
	slice(1, "cpu_op", "aten::mm", 0, 10,
	      "\"Sequence number\":5,\"Fwd thread id\":0," STACK("f;m"));
	if (_i >= 2)
		backward_of(beside[_i % 2]);
	ck_assert_str_eq(LINES(CPU), "m;f 10\nm;f 20\nm;f 10\n");
}
END_TEST

/* To the nanosecond: what stands out is beside, not inside. */
START_TEST(what_stands_out_is_not_inside)
{
	op_with("a", 0, 10, STACK("f"));
	op_with("b", 5, 5.001, STACK("g"));
	ck_assert_str_eq(LINES(CPU), "f 10\ng 5\n");
}
END_TEST

/* Its children are then its parent's; of two children none is a twin. */
START_TEST(an_only_child_of_the_same_name_is_no_event)
{
	op_with("a", 0, 100, STACK("f"));
	op_with("a", 10, 80, STACK("g"));
	op_with("a", 20, 60, STACK("h"));
	op_with("b", 30, 10, STACK("i"));
	op_with("a", 50, 10, STACK("j"));
	ck_assert_str_eq(LINES(CPU), "f 80\ni 10\nj 10\n");
}
END_TEST

START_TEST(some_operators_and_frames_are_left_out)
{
	op_with("a", 0, 100,
		STACK("torch/autograd/__init__.py(388): backward;"
		      "torch/autograd/__init__.py(233): _make_grads;m"));
	op_with("aten::_version", 10, 50, STACK("f"));
	op_with("b", 20, 10, STACK("g"));
	ck_assert_str_eq(LINES(CPU), "m 90\ng 10\n");
}
END_TEST

#define NODE "autograd::engine::evaluate_function: "

/* Below a node the stack is the forward operator's, or none; the engine keeps its own. */
START_TEST(a_node_has_its_forward_stack)
{
	op_with("mm", 0, 10, "\"Sequence number\":5," STACK("f"));
	op_with("inner", 2, 4, "\"Sequence number\":5," STACK("wrong"));
	op_with(NODE "B", 20, 40,
		"\"Sequence number\":5,\"Fwd thread id\":1," STACK("run"));
	op_with("B", 25, 30, "\"Sequence number\":5,\"Fwd thread id\":1," STACK("run"));
	op_with("mm", 30, 10, STACK("run"));
	op_with(NODE "Acc", 70, 10, STACK("run"));
	op_with("Acc", 72, 5, STACK("run"));
	ck_assert_str_eq(LINES(CPU), "f 6\nwrong 4\nrun 10\nf 20\nf 10\nrun 5\n");
}
END_TEST

/* What a file of ours adds to the engine's part is the node's for torch. */
START_TEST(a_given_forward_stack_is_the_nodes)
{
	op_with(NODE "B", 20, 40, STACK("f") ",\"Call stack of\":\"forward operator\"");
	op("B", 25, 30);
	ck_assert_str_eq(LINES(CPU), "f 30\n");
}
END_TEST

START_TEST(device_times_are_what_an_operator_launched)
{
	op_with("outer", 0, 100, "\"External id\":1," STACK("m"));
	op_with("inner", 10, 30, "\"External id\":2," STACK("f;m"));
	slice(1, "cuda_runtime", "launch", 12, 3, "\"External id\":2");
	slice(7, "kernel", "k", 20, 50, "\"External id\":2");
	slice(7, "gpu_memcpy", "c", 80, 0.4, "\"External id\":1");
	slice(7, "kernel", "k", 90, 7, "\"External id\":2");
	slice(7, "gpu_user_annotation", "outer", 0, 1000, "\"External id\":1");
	ck_assert_str_eq(LINES(CUDA), "m;f 57\n");
	ck_assert_str_eq(LINES(CPU), "m 70\nm;f 27\nm;f 3\n");
}
END_TEST

/* torch lifts a twin's kernels over those of its parent. */
START_TEST(a_twins_kernels_take_the_place_of_its_parents)
{
	op_with("a", 0, 100, "\"External id\":1," STACK("f"));
	op_with("a", 10, 30, "\"External id\":2," STACK("f"));
	slice(7, "kernel", "k", 20, 50, "\"External id\":1");
	slice(7, "kernel", "k", 80, 9, "\"External id\":2");
	ck_assert_str_eq(LINES(CUDA), "f 9\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_export_torch");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_line_for_each_event_in_their_order);
	tcase_add_test(tc, times_are_whole_microseconds);
	tcase_add_test(tc, characters_of_a_frame);
	tcase_add_test(tc, what_is_inside_has_a_line_of_its_own);
	tcase_add_test(tc, functions_of_python_are_events);
	tcase_add_loop_test(
		tc, a_backward_operator_of_another_thread_has_its_forward_stack, 0, 4);
	tcase_add_test(tc, what_stands_out_is_not_inside);
	tcase_add_test(tc, an_only_child_of_the_same_name_is_no_event);
	tcase_add_test(tc, some_operators_and_frames_are_left_out);
	tcase_add_test(tc, a_node_has_its_forward_stack);
	tcase_add_test(tc, a_given_forward_stack_is_the_nodes);
	tcase_add_test(tc, device_times_are_what_an_operator_launched);
	tcase_add_test(tc, a_twins_kernels_take_the_place_of_its_parents);
	return unit_run(tc, "report_export_torch");
}
