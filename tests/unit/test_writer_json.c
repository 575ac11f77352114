/* SPDX-License-Identifier: Apache-2.0 */
/* Text, numbers, and what is JSON at all. */
#include "tests/unit/unit.h"
#include "writer/json.h"

#include <stdarg.h>

/* In the place of libc's: a program whose locale has another decimal point. */
static const char *point;
int snprintf(char *to, size_t size, const char *format, ...)
{
	char text[256], *dot;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to, size, format, args);
	va_end(args);
	dot = point && n < (int)sizeof(text) ? memchr(to, '.', (size_t)n) : NULL;
	if (!dot)
		return n;
	strcpy(text, dot + 1);
	strcpy(dot, point);
	strcat(dot, text);
	return n + (int)strlen(point) - 1;
}

static bool is_json(const char *text)
{
	return json_valid(text, strlen(text));
}

START_TEST(numbers_are_those_of_json)
{
	static const char *const good[] = { "0", "-0", "10", "0.5", "-0.01e+5", "1E7" };
	static const char *const bad[] = { "012", "-012", "00", "1.", ".5", "+1", "1e" };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ck_assert_msg(is_json(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(!is_json(bad[i]), "%s", bad[i]);
}
END_TEST

/* As deep as there is room for, whatever closes it. */
START_TEST(brackets_have_a_depth)
{
	char text[300];

	for (unsigned open = 31; open < 100; open++)
		for (unsigned close = 31; close < 130; close++) {
			memset(text, '[', open);
			text[open] = '1';
			memset(text + open + 1, ']', close);
			text[open + 1 + close] = '\0';
			ck_assert_msg(is_json(text) == (open == close && open <= 32),
				      "%u, %u", open, close);
		}
}
END_TEST

START_TEST(controls_are_escaped)
{
	char text[64];

	*json_put_escaped(text, "\x1e\x1f \x7f~", 5) = '\0';
	ck_assert_str_eq(text, "\\u001e\\u001f \\u007f~");
}
END_TEST

/* Wherever the pieces end that a long text is escaped in. */
START_TEST(no_character_is_cut)
{
	static const char *const one[] = { "\xc3\xa9", "\xe2\x82\xac",
					   "\xf0\x9f\x94\xa5" };
	char text[2 * JSON_ROOM], buf[8 * JSON_ROOM];
	size_t n = strlen(one[_i]);
	struct json j;

	for (size_t before = 0; before < n; before++) {
		memset(text, 'x', before);
		text[before] = '\0';
		while (strlen(text) < JSON_ROOM)
			strcat(text, one[_i]);
		json_init(&j, buf, sizeof(buf), NULL, NULL);
		json_escaped(&j, text, strlen(text));
		*j.at = '\0';
		ck_assert_str_eq(buf, text);
	}
}
END_TEST

/* A text's pieces end where they will: its last backslash alone is one of the text's end.
 */
START_TEST(only_the_last_backslash_is_a_number)
{
	char text[2 * JSON_ROOM + 1], buf[8 * JSON_ROOM];
	struct json j;

	memset(text, '\\', sizeof(text));
	json_init(&j, buf, sizeof(buf), NULL, NULL);
	json_string(&j, text, sizeof(text));
	ck_assert_int_eq(j.at - buf, 2 + 2 * (sizeof(text) - 1) + 6);
	*j.at = '\0';
	ck_assert_str_eq(j.at - 9, "\\\\\\u005c\"");
	ck_assert_ptr_eq(strstr(buf, "u005c"), j.at - 6);
	ck_assert(is_json(buf));
}
END_TEST

/* Strings that are JSON, and of which Perfetto does not find the end. */
START_TEST(no_string_ends_in_a_backslash)
{
	static const char *const bad[] = { "\"\\\\\"", "{\"a\": \"b\\\\\\\\\"}",
					   "{\"a\\\\\": 1}", "[\"a\\\\\", 2]" };
	static const char *const good[] = { "\"\\u005c\"", "\"\\\\ \"", "\"\\\\n\"",
					    "\"\\\"\"", "\"\"" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(!is_json(bad[i]), "%s", bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ck_assert_msg(is_json(good[i]), "%s", good[i]);
}
END_TEST

START_TEST(the_decimal_point_is_one)
{
	static const char *const points[] = { ".", ",", "\xd9\xab" };
	char text[JSON_DIGITS + 1];

	point = points[_i];
	*json_put_double(text, 1.5) = '\0';
	ck_assert_str_eq(text, "1.5");
	*json_put_double(text, -1.5e20) = '\0';
	ck_assert_str_eq(text, "-1.5e+20");
	point = NULL;
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("json");

	tcase_add_test(tc, numbers_are_those_of_json);
	tcase_add_test(tc, brackets_have_a_depth);
	tcase_add_test(tc, controls_are_escaped);
	tcase_add_loop_test(tc, no_character_is_cut, 0, 3);
	tcase_add_test(tc, only_the_last_backslash_is_a_number);
	tcase_add_test(tc, no_string_ends_in_a_backslash);
	tcase_add_loop_test(tc, the_decimal_point_is_one, 0, 3);
	return unit_run(tc, "writer json");
}
