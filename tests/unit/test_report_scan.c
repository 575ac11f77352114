/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner gives what the strict parser gives: each field of each event, wherever a
 * block ends, with each kind of instructions. */
#include "report/scan/digits.h"
#include "report/scan/find.h"
#include "tests/unit/event_dump.h"
#include "tests/unit/unit.h"

#include <string.h>

static void check_same(const char *want, const char *got, const char *set, size_t piece)
{
	size_t i = 0, from;

	while (want[i] && want[i] == got[i])
		i++;
	if (!want[i] && !got[i])
		return;
	for (from = i; from && want[from - 1] != '\n';)
		from--;
	ck_abort_msg("%s, pieces of %zu:\n%.600s\nbut\n%.600s", set, piece, want + from,
		     got + from);
}

/* `skipped`: the text has a list or an object that nobody wants, and that is no JSON: the
 * scanner looks at its brackets alone. */
static void check_text(const char *text, size_t len, bool skipped)
{
	static const size_t pieces[] = { 64, 100, 4096, 1 << 20 };
	char *want = event_dump(text, len, 1 << 20, true, NULL);
	const struct find_set *set;

	for (unsigned n = 0; (set = find_nth(n)); n++)
		for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
			char *got = event_dump(text, len, pieces[i], false, set);

			if (!skipped || event_dump_is_clean(want))
				check_same(want, got, set->name, pieces[i]);
			free(got);
		}
	free(want);
}

static void check_string(const char *text)
{
	check_text(text, strlen(text), false);
}

/* ---- the corpus ---- */

START_TEST(the_corpus_is_read_alike)
{
	static const char *const files[] = {
		"tests/golden/one_of_each.kineto.json",
		"tests/golden/one_of_each.tb043.json",
		"tests/golden/one_of_each_gpu.kineto.json",
		"tests/golden/one_of_each_gpu.tb043.json",
		"tests/golden/one_of_each_heap.kineto.json",
		"tests/golden/one_of_each_heap.tb043.json",
		"tests/fuzz/trace.json",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		FILE *in = fopen(files[i], "r");
		char *text = malloc(8 << 20);
		size_t len;

		ck_assert_msg(in && text, "%s", files[i]);
		len = fread(text, 1, 8 << 20, in);
		ck_assert_uint_gt(len, 1000);
		check_text(text, len, false);
		/* Where a file ends must make no difference, either. */
		for (size_t cut = 1; cut < 40; cut++)
			check_text(text, len - 37 * cut, false);
		fclose(in);
		free(text);
	}
}
END_TEST

/* ---- what a value may be ---- */

static const char *const values[] = {
	"0",
	"-0",
	"1",
	"-7",
	"007",
	"12.5",
	"-12.5",
	"0.001",
	"1.2345678",
	"999999999999999",
	"9999999999999999",
	"123456789012345.678",
	"1234567890123456.7",
	"9223372036854775807",
	"-9223372036854775808",
	"18446744073709551615",
	"99999999999999999999999999",
	"1e3",
	"1E-3",
	"2.5e+2",
	"1e400",
	"1.",
	"1e",
	"-",
	"--1",
	"+1",
	".5",
	"true",
	"false",
	"null",
	"truth",
	"NaN",
	"N/A",
	"-Infinity",
	"\"\"",
	"\"x\"",
	"\"a text that is longer than sixteen bytes\"",
	"\"a text that is much longer than thirty-two bytes, and than sixty-four bytes\"",
	"\"12.5\"",
	"\"a\\\"b\"",
	"\"\\\\\"",
	"\"\\u00e9\\ud83d\\ude00\"",
	"\"\\x\"",
	"\"\\u12\"",
	"\"tab\there\"",
	"\"line\nend\"",
	"\"\\u0000nul\"",
	"\"\xc3\xa9\xff\xfe\"",
	"\"</script>\xe2\x80\xae\"",
	"\"a\"b\"",
	"\"{[\"",
	"[]",
	"{}",
	"[1,2]",
	"[ 1 , 2 ]",
	"[[2,3],[]]",
	"[[2, 3], [4]]",
	"[\"float\", \"int\"]",
	"[ \"float\" ]",
	"[\"]\", \"\\\"]\", \"\\\\\"]",
	"[1,[2,[3,[4,[5,[6,[7,[8,[9,[10]]]]]]]]]]",
	"[4294967296, 4294967296]",
	"[-4]",
	"[1 2]",
	"[,]",
	"[1}",
	"{\"a\": {\"b\": [1, {\"c\": \"]}\"}]}}",
	"{\"name\": \"inner\", \"Bytes\": 3}",
	"",
};

static const char *const places[] = {
	"ph",
	"name",
	"cat",
	"pid",
	"tid",
	"ts",
	"dur",
	"args",
	"id",
	"Bytes",
	"Addr",
	"stream",
	"process",
	"External id",
	"Input Dims",
	"Input type",
	"Call stack",
	"name",
	"grid",
	"blocks per SM",
	"Call stack of",
	"flops",
	"flops_source",
	"other",
	"Sequence number",
	"block",
	"est. achieved occupancy %",
	"Process Group Name",
	"Process Group Ranks",
};

#define OTHERS                                                                          \
	"\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"n\", \"pid\": 1, \"tid\": 2, " \
	"\"ts\": 3.5, \"dur\": 4"
#define AFTER "{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 9.125}"

START_TEST(any_value_may_be_anywhere)
{
	char text[2048];
	bool skipped;

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		for (size_t k = 0; k < sizeof(places) / sizeof(*places); k++) {
			snprintf(text, sizeof(text),
				 "[{%s, \"%s\": %s},\n{\"%s\": %s, %s},\n" AFTER "]",
				 OTHERS, places[k], values[i], places[k], values[i],
				 OTHERS);
			skipped = *values[i] == '[' || *values[i] == '{';
			check_text(text, strlen(text), skipped);
			snprintf(
				text, sizeof(text),
				"[{%s, \"args\": {\"%s\": %s, \"stream\": 7}},\n{\"ph\":\"%c\","
				"\"args\":{\"%s\":%s}},\n" AFTER "]",
				OTHERS, places[k], values[i], k % 2 ? 'C' : 'M',
				places[k], values[i]);
			check_text(text, strlen(text), skipped);
		}
}
END_TEST

START_TEST(blanks_and_commas_may_be_anywhere)
{
	check_string("[]");
	check_string("[{}]");
	check_string(" [ { } , { \"ph\" : \"X\" } ] ");
	check_string("[{\"ph\"\t:\r\n\"X\"\n,\n\"ts\":\n1\n}\n,\n{}\n]");
	check_string("[{\"ph\": \"X\",}]");
	check_string("[{,\"ph\": \"X\"}]");
	check_string("[{\"ph\" \"X\"}]");
	check_string("[{\"ph\": \"X\"}" AFTER "]");
	check_string("[{\"ph\": \"X\"},]");
	check_string("[1, \"x\", null, [2], {\"ph\": \"X\"}]");
	check_string("{\"traceEvents\": [" AFTER "], \"traceEvents\": [" AFTER "]}");
	check_string("[{\"a\\u0062\": 1, \"t\\u0073\": 5, \"ts\": 6}]");
	check_string("[{\"a key that is much longer than any key of an event\": 1}]");
	check_string("[{\"ts\": 1, \"ts\": 2, \"args\": {\"Bytes\": 1, \"Bytes\": 2}}]");
}
END_TEST

/* Quotes, backslashes and brackets at each place of a block of 64 bytes. */
START_TEST(a_value_may_end_anywhere_in_a_block)
{
	char text[1024], pad[200];

	for (size_t i = 0; i < 140; i++) {
		memset(pad, 'x', i);
		pad[i] = '\0';
		snprintf(
			text, sizeof(text),
			"[{\"ph\": \"X\", \"name\": \"%s\", \"args\": {\"a\": [[\"%s\\\\\", "
			"\"%s\\\"]\"], [\"{\"]], \"b\": \"%s\\\\\", \"c\": \"%s\\\"\", "
			"\"Input Dims\": [[1, 2],[ %zu ]], \"stream\": 3}}," AFTER "]",
			pad, pad, pad + i / 2, pad, pad, i);
		check_string(text);
	}
}
END_TEST

/* A list of texts, as programs print them unescaped: the events behind it are not lost,
 * whatever quote ends it. */
START_TEST(an_odd_quote_ends_with_its_event)
{
	static const char *const odd[] = {
		"[\"C:\\data\\\"]",  "[\"a\"\"]",
		"[\"a\" b\"]",       "[\"a, \"b\"]",
		"[a\", \"b\"]",      "[\"]",
		"{\"k\": \"v}",      "[\"\", \"\", \"6\" x 9\"]",
		"[[\"a\"], \"\"\"]",
	};
	char text[2048];

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		for (size_t pad = 0; pad < 130; pad++) {
			int n = snprintf(text, sizeof(text),
					 "[{%s, \"args\": {\"Concrete Inputs\": %*s, "
					 "\"stream\": 7}},\n",
					 OTHERS, (int)(pad + strlen(odd[i])), odd[i]);

			for (unsigned more = 0; more < 4; more++)
				n += snprintf(text + n, sizeof(text) - (size_t)n,
					      "{%s, \"args\": {\"Concrete Inputs\": "
					      "%s, \"stream\": %u}},\n",
					      OTHERS, more < 3 ? odd[i] : "[\"a]\"]",
					      more);
			snprintf(text + n, sizeof(text) - (size_t)n, AFTER "]");
			check_string(text);
		}
}
END_TEST

/* ---- the parts ---- */

START_TEST(each_set_finds_the_same)
{
	const struct find_set *plain = find_nth(0), *set;
	char text[256 + FIND_MARGIN + 1];
	uint64_t seed = 88172645463325252ull;
	static const char alphabet[] = "\"\\[]{}a,\x01 \xc3";

	ck_assert_str_eq(plain->name, "portable");
	ck_assert_ptr_nonnull(find_best());
	for (unsigned round = 0; round < 20000; round++) {
		memset(text, '"', sizeof(text));
		for (unsigned i = 0; i < 256; i++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			text[i] = seed % 3 ? alphabet[seed / 3 % (sizeof(alphabet) - 1)]
					   : 'x';
		}
		*text = '[';
		for (unsigned n = 1; (set = find_nth(n)); n++) {
			ck_assert_ptr_eq(set->text_end(text + round % 200),
					 plain->text_end(text + round % 200));
			ck_assert_ptr_eq(set->nest_end(text, text + 256),
					 plain->nest_end(text, text + 256));
		}
	}
}
END_TEST

START_TEST(doubles_are_those_of_strtod)
{
	static const char *const numbers[] = {
		"0",    "1",     "0.1",      "66.666664",     "0.015625",
		"1e-5", "1e308", "123456.5", "0.00000000001", "3.1415926535897932384",
		"-2.5"
	};
	double d;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		ck_assert_ptr_eq(digits_double(numbers[i], &d),
				 numbers[i] + strlen(numbers[i]));
		ck_assert(d == strtod(numbers[i], NULL));
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_scan");

	tcase_add_test(tc, the_corpus_is_read_alike);
	tcase_add_test(tc, any_value_may_be_anywhere);
	tcase_add_test(tc, blanks_and_commas_may_be_anywhere);
	tcase_add_test(tc, a_value_may_end_anywhere_in_a_block);
	tcase_add_test(tc, an_odd_quote_ends_with_its_event);
	tcase_add_test(tc, each_set_finds_the_same);
	tcase_add_test(tc, doubles_are_those_of_strtod);
	return unit_run(tc, "report_scan");
}
