/* SPDX-License-Identifier: Apache-2.0 */
/* Which function a name means, as the keys of a file of cProfile's show it. */
#include "tests/unit/pstats_trace.h"

/* The first is called when all others are over; the last one's key is looked for. */
static void key_is(const char *name, const char *key)
{
	call(1, "z.py(1): z", 0, 1);
	call(1, name, 10, 5);
	ck_assert(add_trace());
	says(written(), key);
}

START_TEST(a_name_makes_a_key)
{
	static const struct {
		const char *name, *key;
	} rows[] = {
		{ "a b (1).py(12): <lambda>", "('a b (1).py', 12, '<lambda>')" },
		{ "t.py(42): <module>", "('t.py', 1, '<module>')" },
		{ "a.py(007): f", "('a.py', 7, 'f')" },
		{ "a.py(99999999999): f", "('a.py', 2147483647, 'f')" },
		{ "nn.Module: Net_0", "('~', 0, 'nn.Module: Net_0')" },
		{ "<built-in method mm of Tensor object at 0x7f12ab>",
		  "('~', 0, '<built-in method mm of Tensor object>')" },
		{ "<built-in method mm of Tensor object at 0x>",
		  "('~', 0, '<built-in method mm of Tensor object>')" },
		{ "<bound x at 0x7g>", "('~', 0, '<bound x at 0x7g>')" },
		{ ">", "('~', 0, '>')" },
		{ "<>", "('~', 0, '<>')" },
		{ "", "('~', 0, '')" },
		{ "h\xc3\xa9.py(3): \xf0\x9f\x98\x80",
		  "('h\xc3\xa9.py', 3, '\xf0\x9f\x98\x80')" },
		{ "a\xff.py(3): \\ud800x", "('a\xef\xbf\xbd.py', 3, '" },
	};

	key_is(rows[_i].name, rows[_i].key);
}
END_TEST

/* Names that make one key are one row: a dictionary has each key once. */
START_TEST(equal_keys_are_one)
{
	call(1, "z.py(1): z", 0, 1);
	call(1, "a\xff.py(3): f", 10, 5);
	call(1, "a\xfe.py(03): f", 20, 5);
	ck_assert(add_trace());
	says(written(), "('a\xef\xbf\xbd.py', 3, 'f'): (2, 2, 1e-05, 1e-05, {})");
}
END_TEST

/* step and main are open when recording begins, at the lines where they are then. */
START_TEST(open_frames_are_the_function_above_them)
{
	call(1, "t.py(90): main", 0, 1000);
	call(1, "t.py(14): step", 1, 99);
	call(1, "t.py(50): other", 2, 8);
	call(1, "t.py(12): <lambda>", 20, 5);
	call(1, "t.py(10): step", 200, 50);
	call(1, "t.py(3): step", 300, 50);
	ck_assert(add_trace());
	written();
	says(said, "('t.py', 90, 'main'): (1, 1, ");
	says(said, "('t.py', 10, 'step'): (2, 2, ");
	says(said, "('t.py', 3, 'step'): (1, 1, ");
	says(said, "('t.py', 50, 'other')");
	ck_assert_ptr_null(strstr(said, "14, 'step'"));
}
END_TEST

/* Each row: what is called later, and where the open frame of step at line 14 goes. */
START_TEST(an_open_frame_is_looked_up)
{
	static const struct {
		const char *called, *line;
	} rows[] = {
		{ "t.py(15): step", "('t.py', 14, 'step'): (1, 1, " }, /* below it */
		{ "u.py(10): step", "('t.py', 14, 'step'): (1, 1, " },
		{ "t.py(10): stop", "('t.py', 14, 'step'): (1, 1, " },
		{ "t.py(14): step", "('t.py', 14, 'step'): (2, 2, " },
		{ "t.py(10): step", "('t.py', 10, 'step'): (2, 2, " },
	};

	call(1, "t.py(14): step", 0, 50);
	call(1, rows[_i].called, 60, 10);
	ck_assert(add_trace());
	says(written(), rows[_i].line);
}
END_TEST

/* Another function between says that the frame may be of a third one; so does a call
 * that is no open frame: it began when another one was over. */
START_TEST(a_function_between_keeps_lines_apart)
{
	call(1, "t.py(20): step", 0, 50);
	call(1, "t.py(10): step", 60, 10);
	call(1, "t.py(15): init", 80, 10);
	call(2, "t.py(14): step", 61, 10);
	ck_assert(add_trace());
	written();
	says(said, "('t.py', 20, 'step'): (1, 1, ");
	says(said, "('t.py', 14, 'step'): (1, 1, ");
	says(said, "('t.py', 10, 'step'): (1, 1, ");
}
END_TEST

/* A line is looked up among a thousand lambdas: only the nearest are passed over. */
START_TEST(lambdas_without_end)
{
	char name[64];

	call(1, "a.py(5000): f", 0, 10);
	call(1, "a.py(1): f", 20, 5);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "a.py(%d): <l%d>", 10 + i, i);
		call(1, name, 100 + i, 1);
	}
	ck_assert(add_trace());
	says(written(), "('a.py', 5000, 'f')");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_pstats_names");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, begin, drop_trace);
	tcase_add_loop_test(tc, a_name_makes_a_key, 0, 13);
	tcase_add_test(tc, equal_keys_are_one);
	tcase_add_test(tc, open_frames_are_the_function_above_them);
	tcase_add_loop_test(tc, an_open_frame_is_looked_up, 0, 5);
	tcase_add_test(tc, a_function_between_keeps_lines_apart);
	tcase_add_test(tc, lambdas_without_end);
	return unit_run(tc, "report_pstats_names");
}
