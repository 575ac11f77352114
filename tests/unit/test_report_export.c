/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: which frames, in which order, and how much. */
#include "tests/unit/export_trace.h"

#define FOLDED(by) exported(EXPORT_FOLDED, EXPORT_##by)

/* ---- self times ---- */

START_TEST(what_is_inside_is_taken_off)
{
	op("outer", 0, 100);
	op("inner", 10, 30);
	op("leaf", 15, 5);
	op("inner", 50, 20);
	ck_assert_str_eq(FOLDED(CPU), "outer 50\n"
				      "outer;inner 45\n"
				      "outer;inner;leaf 5\n");
	ck_assert(found.values && !found.stacks);
}
END_TEST

/* The thread is no frame; calls of the runtime and annotations are. */
START_TEST(threads_are_added)
{
	slice(1, "cpu_op", "a", 0, 10, "");
	slice(2, "cpu_op", "a", 5, 10, "");
	slice(2, "cuda_runtime", "cudaLaunchKernel", 6, 4, "");
	slice(3, "user_annotation", "mine", 0, 10, "");
	ck_assert_str_eq(FOLDED(CPU), "a 16\na;cudaLaunchKernel 4\nmine 10\n");
}
END_TEST

/* 0.4 us three times: no line can say so, and all lines together do. */
START_TEST(fractions_go_to_the_next_line)
{
	op("a", 0, 0.4);
	op("b", 1, 0.4);
	op("c", 2, 0.4);
	op("d", 3, 5.9);
	ck_assert_str_eq(FOLDED(CPU), "c 1\nd 6\n");
}
END_TEST

START_TEST(times_of_any_size_stay_at_their_end)
{
	for (int i = 0; i < 3; i++)
		slice(i, "cpu_op", "a", 0, 9e15, "");
	ck_assert_str_eq(FOLDED(CPU), "a 9223372036854775\n");
}
END_TEST

/* ---- stacks ---- */

START_TEST(a_call_stack_comes_before_operators)
{
	step(7, 0, 200);
	op_with("outer", 0, 100, "\"Call stack\":\"a.py(2): f;a.py(9): <module>\"");
	op("inner", 10, 30);
	op_with("own", 50, 10,
		"\"Call stack\":\"b.py(3): g;a.py(2): f;a.py(9): <module>;\"");
	ck_assert_str_eq(
		FOLDED(CPU),
		"ProfilerStep* 100\n"
		"a.py(9): <module>;a.py(2): f;ProfilerStep*;outer 60\n"
		"a.py(9): <module>;a.py(2): f;ProfilerStep*;outer;inner 30\n"
		"a.py(9): <module>;a.py(2): f;b.py(3): g;ProfilerStep*;outer;own 10\n");
	ck_assert(found.values && found.stacks);
}
END_TEST

START_TEST(functions_of_python_are_frames)
{
	python("a.py(9): <module>", 0, 100);
	python("a.py(2): f", 10, 80);
	op("aten::mm", 20, 50);
	python("b.py(1): hook", 30, 20);
	op("aten::add", 35, 5);
	ck_assert_str_eq(
		FOLDED(CPU),
		"a.py(9): <module> 20\n"
		"a.py(9): <module>;a.py(2): f 30\n"
		"a.py(9): <module>;a.py(2): f;aten::mm 30\n"
		"a.py(9): <module>;a.py(2): f;b.py(1): hook 15\n"
		"a.py(9): <module>;a.py(2): f;b.py(1): hook;aten::mm;aten::add 5\n");
}
END_TEST

/* Of Python's functions the file may have the modules alone. */
START_TEST(an_operator_in_a_module_gives_its_stack_on)
{
	python("nn.Module: Net_0", 0, 100);
	op_with("outer", 10, 60, "\"Call stack\":\"a.py(2): f;a.py(9): <module>\"");
	op("inner", 20, 10);
	python("nn.Module: Hook_0", 40, 20);
	op("below", 45, 5);
	ck_assert_str_eq(FOLDED(CPU),
			 "a.py(9): <module>;a.py(2): f;nn.Module: Hook_0 15\n"
			 "a.py(9): <module>;a.py(2): f;nn.Module: Hook_0;outer;below 5\n"
			 "a.py(9): <module>;a.py(2): f;outer 30\n"
			 "a.py(9): <module>;a.py(2): f;outer;inner 10\n"
			 "nn.Module: Net_0 40\n");
}
END_TEST

/* An annotation begins inside of its __enter__, and outlives it. */
START_TEST(an_annotation_outlives_its_enter)
{
	python("m", 0, 100);
	python("enter", 10, 10);
	slice(1, "user_annotation", "mine", 15, 60, "");
	op("aten::add", 30, 10);
	ck_assert_str_eq(FOLDED(CPU),
			 "m 30\nm;enter 10\nm;enter;mine 50\nm;mine;aten::add 10\n");
}
END_TEST

#define NODE "autograd::engine::evaluate_function: "

/* The engine's part has the line of backward() on the same thread; the node's is the
 * forward operator's. */
START_TEST(a_backward_operator_has_its_forward_stack)
{
	op_with("aten::mm", 0, 10,
		"\"Sequence number\":5,\"Fwd thread id\":0,\"Call stack\":\"f;m\"");
	op_with(NODE "MmBackward0", 20, 40,
		"\"Sequence number\":5,\"Fwd thread id\":1,\"Call stack\":\"backward;m\"");
	op_with("MmBackward0", 25, 30, "\"Sequence number\":5,\"Fwd thread id\":1");
	op("aten::mm", 30, 10);
	/* Its forward operator is not in the trace. */
	op_with(NODE "torch::autograd::AccumulateGrad", 70, 10,
		"\"Call stack\":\"backward;m\"");
	op("torch::autograd::AccumulateGrad", 72, 5);
	ck_assert_str_eq(FOLDED(CPU),
			 "m;backward;" NODE "torch::autograd::AccumulateGrad 5\n"
			 "m;backward;" NODE "torch::autograd::AccumulateGrad;"
			 "torch::autograd::AccumulateGrad 5\n"
			 "m;f;(backward);" NODE "MmBackward0 10\n"
			 "m;f;(backward);" NODE "MmBackward0;MmBackward0 20\n"
			 "m;f;(backward);" NODE "MmBackward0;MmBackward0;aten::mm 10\n"
			 "m;f;aten::mm 10\n");
}
END_TEST

/* Threads count for themselves: a number that two have is the one of the same thread. */
START_TEST(numbers_count_in_each_thread)
{
	for (unsigned tid = 1; tid < 3; tid++) {
		char args[99];

		snprintf(args, sizeof(args),
			 "\"Sequence number\":5,\"Call stack\":\"t%u\"", tid);
		slice(tid, "cpu_op", "forward", 0, 10, args);
		slice(tid, "cpu_op", "Backward0", 20, 10,
		      "\"Sequence number\":5,\"Fwd thread id\":1");
	}
	slice(3, "cpu_op", "Backward0", 20, 10,
	      "\"Sequence number\":5,\"Fwd thread id\":1");
	ck_assert_str_eq(FOLDED(CPU), "t1;(backward);Backward0 20\nt1;forward 10\n"
				      "t2;(backward);Backward0 10\nt2;forward 10\n");
}
END_TEST

/* A file of ours has it where autograd's thread has no Python. */
START_TEST(a_given_forward_stack_is_kept_apart)
{
	op_with(NODE "B", 0, 10,
		"\"Call stack\":\"f;m\",\"Call stack of\":\"forward operator\"");
	op("B", 2, 5);
	ck_assert_str_eq(FOLDED(CPU),
			 "m;f;(backward);" NODE "B 5\nm;f;(backward);" NODE "B;B 5\n");
}
END_TEST

/* ---- text ---- */

START_TEST(no_frame_ends_a_frame_or_a_line)
{
	op("a;b\\n\\tc d\\u001b[2J\\u0007", 0, 10);
	op("", 20, 5);
	ck_assert_str_eq(FOLDED(CPU), "? 5\na_b__c d?[2J? 10\n");
}
END_TEST

START_TEST(lines_are_in_the_order_of_their_text)
{
	op_with("x", 0, 1, "\"Call stack\":\"a\"");
	op_with("x", 2, 1, "\"Call stack\":\"a b\"");
	op_with("x", 4, 1, "\"Call stack\":\"ab\"");
	op("a", 6, 1);
	op("a b", 8, 1);
	op("Z", 10, 1);
	ck_assert_str_eq(FOLDED(CPU), "Z 1\na 1\na b 1\na b;x 1\na;x 1\nab;x 1\n");
}
END_TEST

/* ---- devices ---- */

static void kernel(const char *name, double ts, double dur, const char *args)
{
	fprintf(file,
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
		"\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}},\n",
		name, ts, dur, args);
}

START_TEST(kernels_are_below_who_launched_them)
{
	op_with("aten::mm", 0, 10, "\"External id\":3,\"Call stack\":\"f;m\"");
	slice(1, "cuda_runtime", "cudaLaunchKernel", 2, 3, "\"External id\":3");
	kernel("gemm", 20, 100, "\"External id\":3");
	kernel("gemm", 130, 50, "\"External id\":3");
	kernel("stray", 200, 5, "\"External id\":99");
	kernel("alone", 210, 5, "");
	ck_assert_str_eq(FOLDED(CUDA), "alone 5\nm;f;aten::mm;gemm 150\nstray 5\n");
	ck_assert(found.values && found.stacks);
	ck_assert_str_eq(FOLDED(CPU),
			 "m;f;aten::mm 7\nm;f;aten::mm;cudaLaunchKernel 3\n");
}
END_TEST

START_TEST(a_part_that_is_missing_is_told)
{
	op("a", 0, 10);
	ck_assert_str_eq(FOLDED(CUDA), "");
	ck_assert(!found.values);
	ck_assert_str_eq(FOLDED(LIVE), "");
	ck_assert(!found.values);
	ck_assert_str_eq(exported(EXPORT_STACKS, EXPORT_CPU), "");
	ck_assert(!found.values && !found.stacks);
}
END_TEST

/* ---- bytes ---- */

START_TEST(tensors_are_below_their_operator)
{
	op_with("aten::mm", 0, 10, "\"Call stack\":\"f;m\"");
	op("aten::empty", 2, 3);
	memory(3, 64, 100);
	memory(4, 128, 20);
	memory(7, 192, 3);
	memory(20, 64, -100);
	memory(21, 256, 1);
	memory(22, 999, -5000); /* older than the window */
	memory_of(1, 1, 0, 23, 64, 7, 0);
	ck_assert_str_eq(FOLDED(ALLOCATED), "(outside operators);[cpu] 1\n"
					    "(outside operators);[cuda:0] 7\n"
					    "m;f;aten::mm;[cpu] 3\n"
					    "m;f;aten::mm;aten::empty;[cpu] 120\n");
	ck_assert_str_eq(FOLDED(LIVE), "(outside operators);[cpu] 1\n"
				       "(outside operators);[cuda:0] 7\n"
				       "m;f;aten::mm;[cpu] 3\n"
				       "m;f;aten::mm;aten::empty;[cpu] 20\n");
	ck_assert(found.values && found.stacks);
}
END_TEST

START_TEST(the_heap_has_its_own_stacks)
{
	ours("\"heap\":{\"mode\":\"all\",\"frames\":[\"malloc\",\"f (a.cc:3)\",\"main\"],"
	     "\"stacks\":[[0,1,2],[0,7]],\"sites\":["
	     "{\"stack\":0,\"op\":\"aten::mm\",\"bytes\":30,\"live\":10,\"call\":\"malloc\"},"
	     "{\"stack\":1,\"bytes\":5,\"live\":5,\"call\":\"malloc\"},"
	     "{\"stack\":null,\"op\":\"aten::mm\",\"bytes\":4,\"live\":0,\"call\":\"calloc\"}],"
	     "\"other\":{\"allocs\":1,\"bytes\":2,\"live\":1}}");
	ck_assert_str_eq(FOLDED(ALLOCATED), "(smaller sites);[heap] 2\n"
					    "?;malloc;[heap] 5\n"
					    "aten::mm;calloc;[heap] 4\n"
					    "main;f (a.cc:3);malloc;[heap] 30\n");
	ck_assert_str_eq(FOLDED(LIVE), "(smaller sites);[heap] 1\n"
				       "?;malloc;[heap] 5\n"
				       "main;f (a.cc:3);malloc;[heap] 10\n");
	ck_assert(found.values && found.stacks);
}
END_TEST

/* As many sites as are read, all of one deep stack of long frames. */
START_TEST(a_stack_is_folded_once)
{
	static char frame[8001];

	memset(frame, 'x', sizeof(frame) - 1);
	ours("\"heap\":{\"mode\":\"all\"");
	fseek(file, -strlen("},\"traceEvents\":["), SEEK_CUR);
	fprintf(file, ",\"frames\":[\"%s\"],\"stacks\":[[0", frame);
	for (unsigned i = 0; i < 1000; i++)
		fputs(",0", file);
	fputs("]],\"sites\":[", file);
	for (unsigned i = 0; i < 8000; i++)
		fprintf(file, "%s{\"stack\":0,\"bytes\":1,\"live\":1}", i ? "," : "");
	fputs("]}},\"traceEvents\":[", file);
	ck_assert_ptr_nonnull(strstr(FOLDED(LIVE), ";[heap] 8000\n"));
}
END_TEST

START_TEST(what_is_all_0_is_not_exported)
{
	op("aten::mm", 0, 10);
	memory(2, 64, 100);
	memory(20, 64, -100);
	ck_assert_str_eq(FOLDED(LIVE), "");
	ck_assert(found.seen && !found.values);
}
END_TEST

/* The lines that allocated, and the function outside of the allocator: all that lies
 * between is the interpreter's. */
START_TEST(the_heaps_lines_of_python_come_first)
{
	ours("\"heap\":{\"mode\":\"all\",\"frames\":[\"malloc\",\"grow (a.cc:3)\",\"eval\"],"
	     "\"stacks\":[[0,1,2]],\"sites\":["
	     "{\"stack\":0,\"Call stack\":\"a.py(3): f;a.py(9): main\",\"op\":null,"
	     "\"bytes\":30,\"live\":10},"
	     "{\"stack\":0,\"Call stack\":\"a.py(4): f;a.py(9): main\",\"op\":\"aten::mm\","
	     "\"bytes\":7,\"live\":0},"
	     "{\"stack\":null,\"Call stack\":\"a.py(5): f\",\"op\":null,"
	     "\"bytes\":4,\"live\":0}]}");
	ck_assert_str_eq(FOLDED(ALLOCATED),
			 "a.py(5): f;[heap] 4\n"
			 "a.py(9): main;a.py(3): f;grow (a.cc:3);[heap] 30\n"
			 "a.py(9): main;a.py(4): f;aten::mm;grow (a.cc:3);[heap] 7\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_export");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, what_is_inside_is_taken_off);
	tcase_add_test(tc, threads_are_added);
	tcase_add_test(tc, fractions_go_to_the_next_line);
	tcase_add_test(tc, times_of_any_size_stay_at_their_end);
	tcase_add_test(tc, a_call_stack_comes_before_operators);
	tcase_add_test(tc, functions_of_python_are_frames);
	tcase_add_test(tc, an_operator_in_a_module_gives_its_stack_on);
	tcase_add_test(tc, an_annotation_outlives_its_enter);
	tcase_add_test(tc, a_backward_operator_has_its_forward_stack);
	tcase_add_test(tc, numbers_count_in_each_thread);
	tcase_add_test(tc, a_given_forward_stack_is_kept_apart);
	tcase_add_test(tc, no_frame_ends_a_frame_or_a_line);
	tcase_add_test(tc, lines_are_in_the_order_of_their_text);
	tcase_add_test(tc, kernels_are_below_who_launched_them);
	tcase_add_test(tc, a_part_that_is_missing_is_told);
	tcase_add_test(tc, tensors_are_below_their_operator);
	tcase_add_test(tc, the_heap_has_its_own_stacks);
	tcase_add_test(tc, the_heaps_lines_of_python_come_first);
	tcase_add_test(tc, a_stack_is_folded_once);
	tcase_add_test(tc, what_is_all_0_is_not_exported);
	return unit_run(tc, "report_export");
}
