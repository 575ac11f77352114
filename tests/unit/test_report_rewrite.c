/* SPDX-License-Identifier: Apache-2.0 */
/* A trace file that is written again: what stays as it is, and what is mended. */
#include "tests/unit/chrome_trace.h"

#define OPEN  "\"traceEvents\": ["
#define EVENT "{\"ph\":\"X\",\"ts\":1,\"dur\":2}"

START_TEST(what_is_valid_stays_as_it_is)
{
	static const char *const events[] = {
		"{\"ph\":\"X\",\"ts\":1.50,\"dur\":1e3,\"args\":{\"a\":[1,{}],\"b\":-0.10}}",
		"{\"n\":123456789012345678901234567890,\"t\":true,\"f\":false,\"z\":null}",
		"{\"pid\":\"Spans\",\"tid\":7,\"id\":\"x\",\"args\":[]}",
		"{\"args\":{\"External id\":3,\"correlation\":4,\"name\":\"x\"}}",
		"{\"ts\":\"12.5\",\"name\":\"\xc3\xa9 \\\"\\\\ </script>\"}",
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		char trace[512], want[512];

		snprintf(trace, sizeof(trace), "{" OPEN "%s]}", events[i]);
		snprintf(want, sizeof(want), "{\n" OPEN "\n%s\n]\n}\n", events[i]);
		ck_assert_str_eq(written(trace), want);
	}
}
END_TEST

/* What stands between the brackets of the only event. */
static const char *event_of(const char *event)
{
	char trace[512];
	char *from;

	snprintf(trace, sizeof(trace), "{\"traceEvents\":[{%s}]}", event);
	ck_assert_ptr_nonnull(written(trace));
	from = strchr(said, '[') + 3;
	*strrchr(said, ']') = '\0';
	from[strlen(from) - 2] = '\0';
	return from;
}

START_TEST(what_is_no_json_is_mended)
{
	ck_assert_str_eq(event_of("\"a\":NaN,\"b\":N/A,\"c\":-Infinity"),
			 "\"a\":null,\"b\":null,\"c\":null");
	ck_assert_str_eq(event_of("\"a\":007,\"b\":-00.5,\"c\":0,\"d\":0.5"),
			 "\"a\":7,\"b\":-0.5,\"c\":0,\"d\":0.5");
	ck_assert_str_eq(event_of("\"a\":\"x\ty\nz\x1b\x7f\""),
			 "\"a\":\"x\\u0009y\\u000az\\u001b\\u007f\"");
	ck_assert_str_eq(event_of("\"a\":\"\xff\xc3\",\"b\":\"\\ud800\""),
			 "\"a\":\"\\ufffd\\ufffd\",\"b\":\"\xef\xbf\xbd\"");
	ck_assert_str_eq(event_of("\"a\":\"x\\u0000y\xe2\x80\xae\""),
			 "\"a\":\"x\\u0000y\\u202e\"");
}
END_TEST

START_TEST(a_bare_list_becomes_an_object)
{
	ck_assert_str_eq(written("[" EVENT ", 5, [], " EVENT "]"),
			 "{\n" OPEN "\n" EVENT ",\n" EVENT "\n]\n}\n");
}
END_TEST

START_TEST(members_stay)
{
	ck_assert_str_eq(written("{\"schemaVersion\":1,\"x\":{\"y\":[1.250]},"
				 "\"traceEvents\":[],\"traceName\":\"t\",\"z\":NaN}"),
			 "{\n\"schemaVersion\": 1,\n\"x\": {\"y\": [1.250]},\n" OPEN
			 "\n],\n\"traceName\": \"t\",\n\"z\": null\n}\n");
}
END_TEST

START_TEST(what_is_whole_of_a_file_is_taken)
{
	static const char trace[] =
		"{\"a\":1,\"traceEvents\":[" EVENT "," EVENT ",{\"ph\":\"X\",\"ts\":";
	char part[sizeof(trace)];

	ck_assert_str_eq(written(trace),
			 "{\n\"a\": 1,\n" OPEN "\n" EVENT ",\n" EVENT "\n]\n}\n");
	ck_assert_str_eq(chrome.rewrite.broken, PARSE_CUT);
	for (size_t n = 0; n < sizeof(trace) - 1; n++) {
		bool whole = n >= strlen("{\"a\":1,\"traceEvents\":[" EVENT);

		snprintf(part, sizeof(part), "%.*s", (int)n, trace);
		ck_assert_msg(!written(part) == !whole, "%s: %s", part, why);
	}
	ck_assert_ptr_null(written("{\"traceEvents\":[{\"a\" 1}]}"));
	ck_assert_ptr_nonnull(strstr(why, "no colon after a key at byte 21"));
	ck_assert_ptr_null(written("{\"a\":1}"));
	ck_assert_ptr_nonnull(strstr(why, "\"traceEvents\" is missing"));
}
END_TEST

/* ---- several ---- */

START_TEST(traces_lie_beside_one_another)
{
	static const char *const traces[] = {
		"{\"baseTimeNanoseconds\":5000,\"a\":1,\"traceEvents\":["
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"args\":{\"name\":\"p\"}},"
		"{\"ph\":\"s\",\"id\":9,\"pid\":7,\"tid\":7,\"ts\":1.5}],\"z\":1}",
		"{\"baseTimeNanoseconds\":7000,\"a\":2,\"traceEvents\":["
		"{\"ph\":\"s\",\"id\":1,\"pid\":7,\"tid\":7,\"ts\":1.5,\"dur\":1,"
		"\"args\":{\"External id\":2,\"correlation\":0}},"
		"{\"pid\":\"Spans\",\"id\":\"x\"}],\"z\":2}",
		"[{\"id\":1,\"pid\":7}]",
	};

	ck_assert_ptr_nonnull(written_all(traces, 3));
	ck_assert(has_part("\"a\": 1,\n") && !has_part("\"a\": 2") &&
		  has_part("],\n\"z\": 1\n}"));
	ck_assert(has_part("\"name\":\"p (report_chrome."));
	ck_assert(has_part("{\"ph\":\"s\",\"id\":9,\"pid\":7,\"tid\":7,\"ts\":1.5}"));
	ck_assert(has_part(
		"{\"ph\":\"s\",\"id\":10,\"pid\":1000000007,\"tid\":7,\"ts\":3.500,"
		"\"dur\":1,\"args\":{\"External id\":11,\"correlation\":0}}"));
	ck_assert(has_part("{\"pid\":\"Spans [2]\",\"id\":\"x\"}"));
	ck_assert(has_part("{\"id\":12,\"pid\":2000000007}"));
}
END_TEST

START_TEST(a_broken_trace_leaves_the_others)
{
	static const char *const traces[] = { "{\"a\":", "[" EVENT ",{\"b\" 1}",
					      "[" EVENT "]" };

	ck_assert_ptr_nonnull(written_all(traces, 3));
	ck_assert_str_eq(said, "{\n" OPEN "\n" EVENT ",\n" EVENT "\n]\n}\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_rewrite");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, what_is_valid_stays_as_it_is);
	tcase_add_test(tc, what_is_no_json_is_mended);
	tcase_add_test(tc, a_bare_list_becomes_an_object);
	tcase_add_test(tc, members_stay);
	tcase_add_test(tc, what_is_whole_of_a_file_is_taken);
	tcase_add_test(tc, traces_lie_beside_one_another);
	tcase_add_test(tc, a_broken_trace_leaves_the_others);
	return unit_run(tc, "report_rewrite");
}
