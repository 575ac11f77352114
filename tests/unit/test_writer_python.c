/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/python_bench.h"

START_TEST(frames_are_written_innermost_first)
{
	uint32_t outer, inner;

	start_writing();
	outer = call(0, add_code("/a/train.py", "<module>", 10), 2);
	inner = call(outer, add_code("/a/model.py", "Model.forward", 20), 4);
	for (unsigned again = 0; again < 2; again++) {
		ck_assert_str_eq(written(inner, false),
				 "\"Call stack\":\"/a/model.py(20): Model.forward;"
				 "/a/train.py(10): <module>\",");
		ck_assert_str_eq(written(outer, false),
				 "\"Call stack\":\"/a/train.py(10): <module>\",");
	}
	python_free(&trace);
}
END_TEST

START_TEST(a_forward_operators_stack_is_said_to_be_one)
{
	uint32_t id;

	start_writing();
	id = call_in("x.py");
	for (unsigned again = 0; again < 2; again++)
		ck_assert_str_eq(written(id, true),
				 "\"Call stack\":\"x.py(3): f\","
				 "\"Call stack of\":\"forward operator\",");
	ck_assert_str_eq(written(id, false), "\"Call stack\":\"x.py(3): f\",");
	python_free(&trace);
}
END_TEST

START_TEST(without_the_option_nothing_is_written)
{
	uint32_t id;

	open_spool(SPOOL);
	config_defaults(&config);
	config.python_stack = PYTHON_OFF;
	trace.config = &config;
	trace.view = &view;
	ck_assert_int_eq(python_start(&trace), 0);
	id = call_in("x.py");
	ck_assert_str_eq(written(id, true), "");
	python_free(&trace);
}
END_TEST

START_TEST(where_there_is_no_stack_nothing_is_written)
{
	uint32_t id;

	start_writing();
	id = call_in("x.py");
	ck_assert_str_eq(written(0, true), "");
	ck_assert_str_eq(written(UINT32_MAX, true), "");
	ck_assert_str_eq(written(1, true), "");
	((struct stack *)(spool.base + 8ul * id))->depth = STACKS_MOST + 1;
	ck_assert_str_eq(written(id, true), "");
	python_free(&trace);
}
END_TEST

START_TEST(each_instruction_has_its_line)
{
	/* Line 8, then one without, then line 9. */
	struct code_text table = { "\x04\x01\x02\x80\x02\x01", 6 };
	char want[64];
	uint32_t code;

	start_writing();
	code = codes_add(as_text("x.py"), as_text("f"), 7, CODE_LINETABLE, table);
	for (unsigned again = 0; again < 2; again++)
		for (uint32_t offset = 0; offset < 12; offset += 2) {
			/* What has no line is where the function begins. */
			int line = offset < 4 ? 8 : offset == 6 ? 9 : 7;

			fmt(want, sizeof(want), "\"Call stack\":\"x.py(%d): f\",", line);
			ck_assert_str_eq(written(call(0, code, offset), false), want);
		}
	python_free(&trace);
}
END_TEST

START_TEST(code_that_cannot_be_read_is_a_question_mark)
{
	uint32_t outer, id;

	start_writing();
	outer = call_in("x.py");
	id = call(outer, outer, 0); /* a stack is no code */
	id = call(id, 0, 0x1234);
	for (unsigned again = 0; again < 2; again++)
		ck_assert_str_eq(written(id, false),
				 "\"Call stack\":\"?;?;x.py(3): f\",");
	python_free(&trace);
}
END_TEST

START_TEST(outer_frames_beyond_the_depth_are_left_out)
{
	uint32_t code, id = 0;

	start_writing();
	code = add_code("x.py", "f", 1);
	for (unsigned i = 0; i < 5; i++)
		id = call(id, code, 2 * i);
	config.stack_depth = 2;
	ck_assert_str_eq(written(id, false), "\"Call stack\":\"x.py(1): f;x.py(1): f\",");
	config.stack_depth = UINT32_MAX;
	ck_assert_str_eq(written(id, false), "\"Call stack\":\"x.py(1): f;x.py(1): f\",");
	python_free(&trace);
	ck_assert_int_eq(python_start(&trace), 0); /* what was kept is gone */
	ck_assert_str_eq(written(id, false),
			 "\"Call stack\":\"x.py(1): f;x.py(1): f;x.py(1): f;x.py(1): f;"
			 "x.py(1): f\",");
	python_free(&trace);
}
END_TEST

/* ---- the folder that Python found a file by ---- */

START_TEST(the_longest_folder_is_cut_off)
{
	start_with_folders("\"/lib/python3:/lib:/lib/python3/site:/opt/x:/lib:/\"");
	is_shown_as("/lib/python3/site/torch/nn.py", "torch/nn.py");
	is_shown_as("/lib/python3/os.py", "os.py");
	is_shown_as("/lib/python3/sites/a.py", "sites/a.py");
	is_shown_as("/lib/b.py", "b.py");
	is_shown_as("/opt/x/opt/x/c.py", "opt/x/c.py");
	/* A folder is one as a whole, and at the begin. */
	is_shown_as("/library/d.py", "/library/d.py");
	is_shown_as("/usr/lib/e.py", "/usr/lib/e.py");
	is_shown_as("/lib", "/lib");
	is_shown_as("/opt", "/opt");
	is_shown_as("f.py", "f.py");
	is_shown_as("", "");
	is_shown_as("<string>", "<string>");
	/* torch puts a slash behind each folder. */
	is_shown_as("//g.py", "g.py");
	python_free(&trace);
}
END_TEST

static const char *const folders[] = {
	"",      "\"",           "\"\"",  "\":\"", "\":::\"",     "\"/usr\"",
	"null",  "/a",           "\"/a",  "/a\"",  "[\"/a\"]",    "\"/a/\"",
	"\"a\"", "\"/a/x.pyy\"", "x/a\"", "\"/ab", "\"/a/x.py\"",
};

START_TEST(where_no_folder_fits_the_whole_name_stays)
{
	start_with_folders(folders[_i]);
	is_shown_as("/a/x.py", "/a/x.py");
	python_free(&trace);
}
END_TEST

START_TEST(the_last_of_many_folders_is_found)
{
	char json[6000] = "\"";

	for (size_t at = 1; at < sizeof(json) - 100; at += strlen(json + at))
		fmt(json + at, sizeof(json) - at, "/f/%lu:", at);
	strcat(json, "/a\"");
	start_with_folders(json);
	is_shown_as("/a/x.py", "x.py");
	is_shown_as("/f/1/x.py", "x.py");
	is_shown_as("/f/x.py", "/f/x.py");
	python_free(&trace);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("python");

	tcase_add_test(tc, frames_are_written_innermost_first);
	tcase_add_test(tc, a_forward_operators_stack_is_said_to_be_one);
	tcase_add_test(tc, without_the_option_nothing_is_written);
	tcase_add_test(tc, where_there_is_no_stack_nothing_is_written);
	tcase_add_test(tc, each_instruction_has_its_line);
	tcase_add_test(tc, code_that_cannot_be_read_is_a_question_mark);
	tcase_add_test(tc, outer_frames_beyond_the_depth_are_left_out);
	tcase_add_test(tc, the_longest_folder_is_cut_off);
	tcase_add_loop_test(tc, where_no_folder_fits_the_whole_name_stays, 0,
			    sizeof(folders) / sizeof(*folders));
	tcase_add_test(tc, the_last_of_many_folders_is_found);
	return unit_run(tc, "writer python");
}
