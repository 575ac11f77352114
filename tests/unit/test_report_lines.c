/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites of tensors in traces that know lines of Python. */
#include "base/frame_text.h"
#include "report/lines.h"
#include "tests/unit/report_trace.h"

static void stack_of_op(const char *name, double ts, double dur, const char *stack,
			const char *more)
{
	char args[2048];

	snprintf(args, sizeof(args), "\"Call stack\":\"%s\"%s", stack, more);
	slice(1, "cpu_op", name, ts, dur, args);
}

#define OWN "train.py(7): step;train.py(9): main"

START_TEST(the_line_comes_first)
{
	begin();
	stack_of_op("aten::linear", 100, 50,
		    "torch/nn/modules/linear.py(134): forward;" OWN, "");
	op("aten::addmm", 110, 20); /* shares the stack of the one around it */
	memory(115, 4096, 100);
	memory(135, 8192, 50);
	op("aten::plain", 200, 10);
	memory(205, 12288, 7);
	look();
	ck_assert_int_eq(row(&view.spaces[0].by_site, "train.py(7): step < train.py(9): "
						      "main < [aten::addmm]")
				 ->bytes,
			 100);
	ck_assert_int_eq(row(&view.spaces[0].by_site, "train.py(7): step < train.py(9): "
						      "main < [aten::linear]")
				 ->bytes,
			 50);
	ck_assert_int_eq(row(&view.spaces[0].by_site, "aten::plain")->bytes, 7);
	end();
}
END_TEST

START_TEST(a_forward_operators_line_is_marked)
{
	begin();
	stack_of_op("MulBackward0", 100, 50, OWN,
		    ",\"Call stack of\":\"forward operator\"");
	memory(115, 4096, 100);
	look();
	ck_assert_int_eq(row(&view.spaces[0].by_site,
			     "train.py(7): step < train.py(9): main < [MulBackward0] "
			     "(forward)")
				 ->bytes,
			 100);
	end();
}
END_TEST

/* Of an operator that Python called inside of another the inner stack counts. */
START_TEST(the_innermost_stack_counts)
{
	begin();
	stack_of_op("Twice", 100, 50, OWN, "");
	stack_of_op("aten::mul", 110, 20, "train.py(3): backward", "");
	memory(115, 4096, 100);
	look();
	ck_assert_int_eq(
		row(&view.spaces[0].by_site, "train.py(3): backward < [aten::mul]")
			->bytes,
		100);
	end();
}
END_TEST

START_TEST(a_folder_of_the_users_may_be_called_torch)
{
	begin();
	stack_of_op("aten::mul", 100, 50, "/data/torch/train.py(1): f", "");
	memory(115, 4096, 100);
	look();
	ck_assert_int_eq(
		row(&view.spaces[0].by_site, "/data/torch/train.py(1): f < [aten::mul]")
			->bytes,
		100);
	end();
}
END_TEST

START_TEST(where_all_frames_are_torchs_operators_are_named)
{
	begin();
	stack_of_op(
		"aten::mul", 100, 50,
		"torch/a.py(1): f;/usr/lib/python3/dist-packages/torch/b.py(2): g;<frozen runpy>(3): h;",
		"");
	memory(115, 4096, 100);
	look();
	ck_assert_int_eq(row(&view.spaces[0].by_site, "aten::mul")->bytes, 100);
	end();
}
END_TEST

/* torch.profiler's with_stack has a slice for each function. */
START_TEST(functions_of_torchs_own_traces_are_lines)
{
	begin();
	slice(1, "python_function", "train.py(9): main", 100, 100, "");
	slice(1, "python_function", "train.py(7): step", 110, 80, "");
	slice(1, "python_function", "torch/nn/x.py(1): forward", 115, 70, "");
	op("aten::randn", 120, 50);
	op("aten::empty", 130, 20);
	memory(135, 4096, 100);
	look();
	ck_assert_int_eq(row(&view.spaces[0].by_site,
			     "train.py(7): step < train.py(9): main < [aten::randn "
			     "(aten::empty)]")
				 ->bytes,
			 100);
	end();
}
END_TEST

START_TEST(names_are_bounded)
{
	char stack[1900] = "";

	begin();
	for (unsigned i = 0; i < 3; i++)
		snprintf(stack + strlen(stack), sizeof(stack) - strlen(stack),
			 "%0500d.py(1): f;", (int)i);
	stack_of_op("aten::mul", 100, 50, stack, "");
	memory(115, 4096, 100);
	look();
	ck_assert_uint_eq(view.spaces[0].by_site.n, 1);
	ck_assert_uint_lt(
		strlen(texts_get(&model.texts, view.spaces[0].by_site.rows[0].label)),
		1000);
	end();
}
END_TEST

#define HEAP                                                                             \
	"\"heap\": {\"mode\": \"all\", \"peak\": {\"ts\": 1.000, \"bytes\": 900}, "      \
	"\"frames\": [\"malloc (libc.so.6+0x1)\", \"grow (a.c:3)\", \"call (b.c:9)\"], " \
	"\"stacks\": [[0, 1, 2]], \"sites\": ["
#define SITE(stack, python, op, bytes)                   \
	"{\"stack\": " stack ", " python "\"op\": " op   \
	", \"allocs\": 1, \"bytes\": " bytes             \
	", \"frees\": 0, \"freed\": 0, \"live\": " bytes \
	", \"blocks\": 1, \"peak\": 1, \"call\": \"malloc\"}"
#define PYTHON(stack) "\"Call stack\":\"" stack "\","

/* The heap's: lines, the operator, and the function that the block was made in. */
START_TEST(a_call_site_of_the_heap_has_its_line_first)
{
	static const struct {
		const char *label;
		int64_t bytes;
	} want[] = {
		{ "train.py(7): step < train.py(9): main < in grow (a.c:3)", 111 },
		{ "train.py(7): step < train.py(9): main < [aten::add] < in grow (a.c:3)",
		  222 },
		{ "grow (a.c:3) < call (b.c:9)", 333 },
		{ "train.py(7): step < train.py(9): main", 444 },
		{ "a.py(1): a < a.py(2): b < a.py(3): c < in grow (a.c:3)", 555 },
	};

	begin();
	ours(HEAP SITE("0", PYTHON("<frozen runpy>(3): run;" OWN), "null", "111") ", " SITE(
		"0", PYTHON("torch/a.py(1): f;" OWN), "\"aten::add\"",
		"222") ", " SITE("0", PYTHON("<frozen runpy>(3): run"), "null",
				 "333") ", " SITE("null", PYTHON(OWN), "null",
						  "444") ", " SITE("0",
								   PYTHON("a.py(1): a;a.py(2): b;a.py(3): c;a.py(4): d"),
								   "null", "555") "]}");
	look();
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		ck_assert_int_eq(row(&view.spaces[0].by_site, want[i].label)->bytes,
				 want[i].bytes);
	end();
}
END_TEST

#define MIXED                                                              \
	"at::add(at::Tensor) (libtorch.so+0x12);torch/_tensor.py(3): add;" \
	"list_sort (l.c:3);" OWN ";main (m.c:7)"

/* Functions of C and C++ are no lines. */
START_TEST(native_frames_are_passed_by)
{
	const char *stack = MIXED, *at = stack;
	char frame[LINE_MOST + 1];
	size_t len;

	begin();
	stack_of_op("aten::linear", 100, 50, MIXED, "");
	memory(115, 4096, 100);
	look();
	ck_assert_int_eq(row(&view.spaces[0].by_site, "train.py(7): step < train.py(9): "
						      "main < [aten::linear]")
				 ->bytes,
			 100);
	end();
	ck_assert_ptr_eq(line_innermost(stack, &len), strstr(stack, "torch/_tensor"));
	ck_assert_uint_eq(len, strlen("torch/_tensor.py(3): add"));
	ck_assert(lines_next(&at, frame));
	ck_assert_str_eq(frame, "train.py(7): step");
	ck_assert(lines_next(&at, frame));
	ck_assert(!lines_next(&at, frame));
	ck_assert_ptr_null(line_innermost("f (a.c:3);g(int) (x.so+0x1)", &len));
}
END_TEST

static const struct {
	const char *frame, *place;
} places[] = {
	{ "a.py(12): f", "(12): f" },
	{ "/a(b): c/d.py(3): <module>", "(3): <module>" },
	{ "<frozen x>(1): <module>", "(1): <module>" },
	{ "f (a.c:12)", NULL },
	{ "operator()(int) (x.so+0x3)", NULL },
	{ "f(int): g", NULL },
	{ "(3): f", "(3): f" }, /* code without a file */
	{ "a(): f", NULL },
	{ "a12): f", NULL },
	{ "", NULL },
};

START_TEST(python_is_told_by_its_form)
{
	const char *frame = places[_i].frame, *place = frame_place(frame, strlen(frame));

	if (places[_i].place)
		ck_assert_str_eq(place, places[_i].place);
	else
		ck_assert_ptr_null(place);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("lines");

	tcase_add_test(tc, native_frames_are_passed_by);
	tcase_add_loop_test(tc, python_is_told_by_its_form, 0,
			    sizeof(places) / sizeof(*places));
	tcase_add_test(tc, the_line_comes_first);
	tcase_add_test(tc, a_forward_operators_line_is_marked);
	tcase_add_test(tc, the_innermost_stack_counts);
	tcase_add_test(tc, a_folder_of_the_users_may_be_called_torch);
	tcase_add_test(tc, where_all_frames_are_torchs_operators_are_named);
	tcase_add_test(tc, functions_of_torchs_own_traces_are_lines);
	tcase_add_test(tc, names_are_bounded);
	tcase_add_test(tc, a_call_site_of_the_heap_has_its_line_first);
	return unit_run(tc, "lines");
}
