/* SPDX-License-Identifier: Apache-2.0 */
#include "report/out.h"
#include "report/parse.h"
#include "report/texts.h"
#include "tests/unit/unit.h"

#include <string.h>

/* Text in pieces of one size: every token meets every edge of a piece. */
struct pieces {
	const char *text;
	size_t len, at, piece;
};

static ssize_t pull(void *arg, void *bytes, size_t size, const char **why)
{
	struct pieces *s = arg;
	size_t n = s->len - s->at;

	(void)why;
	n = n < s->piece ? n : s->piece;
	n = n < size ? n : size;
	memcpy(bytes, s->text + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static const char *const shown[] = { "",   "{",  "}", "[", "]", "k:",
				     "s:", "n:", "T", "F", "N", "!" };

/* What the tokens of a text are, in one line. */
static const char *tokens(const char *text, size_t len, size_t piece)
{
	static char line[4096];
	struct pieces s = { text, len, 0, piece };
	struct parse p;
	enum token token;
	size_t at = 0;

	ck_assert(parse_start(&p, pull, &s));
	line[0] = '\0';
	do {
		token = parse_next(&p);
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s", shown[token]);
		if (token == TOKEN_KEY || token == TOKEN_STRING || token == TOKEN_NUMBER)
			at += (size_t)snprintf(line + at, sizeof(line) - at, "%.*s ",
					       (int)p.len, p.text);
	} while (token != TOKEN_END && token != TOKEN_ERROR && at < 4000);
	ck_assert((token == TOKEN_ERROR) == (p.why != NULL));
	if (token == TOKEN_ERROR)
		ck_assert_int_eq(parse_next(&p), TOKEN_ERROR);
	parse_stop(&p);
	return line;
}

static void check(const char *text, const char *want)
{
	for (size_t piece = 1; piece < 8; piece++)
		ck_assert_str_eq(tokens(text, strlen(text), piece), want);
	ck_assert_str_eq(tokens(text, strlen(text), 1000), want);
}

START_TEST(what_json_is)
{
	check("{}", "{}");
	check(" [ ] ", "[]");
	check("{\"a\": 1, \"b\": [true, false, null], \"c\": {\"d\": \"e\"}}",
	      "{k:a n:1 k:b [TFN]k:c {k:d s:e }}");
	check("[0, -1, 1.5, 1e9, -2.5E-3]", "[n:0 n:-1 n:1.5 n:1e9 n:-2.5E-3 ]");
	check("\"alone\"", "s:alone ");
	check("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[s:\"\\/\b\f\n\r\t ]");
	check("[\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"]",
	      "[s:A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ]");
	check("[\"\\ud83d\", \"\\ude00x\", \"\\ud83d\\u0041\"]",
	      "[s:\xef\xbf\xbd s:\xef\xbf\xbdx s:\xef\xbf\xbd ]");
	check("{\"k\" : \t\n 1}", "{k:k n:1 }");
}
END_TEST

START_TEST(what_it_is_not)
{
	check("", "!");
	check("{", "{!");
	check("{\"a\"", "{!");
	check("{\"a\" 1}", "{!");
	check("{\"a\": }", "{k:a !");
	check("{\"a\": 1,}", "{k:a n:1 !");
	check("{1: 2}", "{!");
	check("[1,]", "[n:1 !");
	check("[1 2]", "[n:1 !");
	check("[1}", "[n:1 !");
	check("[1] x", "[n:1 ]!");
	check("[-]", "[!");
	check("[1.]", "[!");
	check("[1e]", "[!");
	check("[\"\\x\"]", "[!");
	check("[\"\\u12g4\"]", "[!");
	check("[\"abc", "[!");
	check("[truth]", "[!");
}
END_TEST

START_TEST(what_real_files_have)
{
	check("[N/A, NaN, Infinity, -Infinity, inf, -inf]", "[NNNNNN]");
	check("[\"a\nb\tc\"]", "[s:a\nb\tc ]");
}
END_TEST

START_TEST(depth_has_a_limit)
{
	static char text[2 * PARSE_DEPTH_MOST + 8];
	struct parse p;
	struct pieces s = { text, 0, 0, 100 };
	unsigned depth = 0;

	memset(text, '[', PARSE_DEPTH_MOST + 1);
	s.len = PARSE_DEPTH_MOST + 1;
	ck_assert(parse_start(&p, pull, &s));
	while (parse_next(&p) == TOKEN_ARRAY)
		depth++;
	ck_assert_uint_eq(depth, PARSE_DEPTH_MOST);
	ck_assert_str_eq(p.why, "nested too deeply");
	parse_stop(&p);
}
END_TEST

START_TEST(long_texts_and_skipping)
{
	size_t len = 3u << 20;
	char *text = calloc(1, len + 64);
	struct pieces s = { text, 0, 0, 5000 };
	struct parse p;

	ck_assert_ptr_nonnull(text);
	memcpy(text, "[{\"a\": [\"", 9);
	memset(text + 9, 'x', len);
	strcpy(text + 9 + len, "\", {}]}, 7]");
	s.len = strlen(text);
	ck_assert(parse_start(&p, pull, &s));
	ck_assert_int_eq(parse_next(&p), TOKEN_ARRAY);
	ck_assert_int_eq(parse_skip(&p, parse_next(&p)), TOKEN_OBJECT_END);
	ck_assert_int_eq(parse_next(&p), TOKEN_NUMBER);
	ck_assert_int_eq(number_i64(&p), 7);
	ck_assert_int_eq(parse_next(&p), TOKEN_ARRAY_END);
	ck_assert_int_eq(parse_next(&p), TOKEN_END);
	parse_stop(&p);
	free(text);
}
END_TEST

static struct parse number(const char *text)
{
	return (struct parse){ .text = text, .len = strlen(text) };
}

START_TEST(numbers_are_exact)
{
	static const struct {
		const char *text;
		int64_t i64, us;
	} rows[] = {
		{ "0", 0, 0 },
		{ "4405077979332.024", 4405077979332, 4405077979332024 },
		{ "12.5", 12, 12500 },
		{ "-7.001", -7, -7001 },
		{ "1.2345678", 1, 1234 },
		{ "9223372036854775807", INT64_MAX, INT64_MAX },
		{ "99999999999999999999999", INT64_MAX, INT64_MAX },
		{ "-99999999999999999999999", INT64_MIN, INT64_MIN },
		{ "1e3", 1000, 1000000 },
		{ "1e300", INT64_MAX, INT64_MAX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct parse p = number(rows[i].text);

		ck_assert_int_eq(number_i64(&p), rows[i].i64);
		ck_assert_int_eq(number_us(&p), rows[i].us);
	}
	ck_assert(number_u64(&(struct parse){ .text = "18446744073709551615",
					      .len = 20 }) == UINT64_MAX);
	ck_assert_double_eq(number_double(&(struct parse){ .text = "1.5e2", .len = 5 }),
			    150);
}
END_TEST

START_TEST(each_text_once)
{
	struct texts t = { 0 };
	char name[32];

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 20000; i++) {
			int len = snprintf(name, sizeof(name), "name %u", i);

			ck_assert_uint_eq(texts_add(&t, name, (size_t)len), i);
		}
	ck_assert_str_eq(texts_get(&t, 12345), "name 12345");
	ck_assert_uint_eq(texts_find(&t, "name 777"), 777);
	ck_assert_uint_eq(texts_find(&t, "name"), TEXT_NONE);
	ck_assert_uint_eq(texts_add(&t, "name 5\0x", 8), 5);
	ck_assert_str_eq(texts_get(&t, TEXT_NONE), "?");
	texts_free(&t);
}
END_TEST

static const char *printed(void (*put)(FILE *, const char *), const char *text)
{
	static char line[512];
	FILE *out = fmemopen(line, sizeof(line), "w");

	put(out, text);
	fclose(out);
	return line;
}

static void put_ten(FILE *out, const char *text)
{
	out_text(out, text, 10);
}

START_TEST(what_people_read)
{
	ck_assert_str_eq(out_bytes(0), "0 B");
	ck_assert_str_eq(out_bytes(1023), "1023 B");
	ck_assert_str_eq(out_bytes(1536), "1.5 KiB");
	ck_assert_str_eq(out_bytes(1048575), "1.0 MiB");
	ck_assert_str_eq(out_bytes(-3 * 1024), "-3.0 KiB");
	ck_assert_str_eq(out_bytes(INT64_MAX), "8.0 EiB");
	ck_assert_str_eq(out_count(1234567), "1,234,567");
	ck_assert_str_eq(out_count(-1234), "-1,234");
	ck_assert_str_eq(out_count(-123456), "-123,456");
	ck_assert_str_eq(out_ms(1234567), "1.235 ms");
	ck_assert_str_eq(printed(put_ten, "0123456789"), "0123456789");
	ck_assert_str_eq(printed(put_ten, "0123456789x"), "0123456...");
	ck_assert_str_eq(printed(put_ten, "a\033[2Jb\x9b\n"), "a?[2Jb??");
	ck_assert_str_eq(printed(put_ten, "\xc2\x9b\xe2\x80\xae\xc3\xa9"), "??\xc3\xa9");
	ck_assert_str_eq(printed(out_json, "a\"b\\c\n\xff\xc3\xa9"),
			 "\"a\\\"b\\\\c\\u000a\\ufffd\xc3\xa9\"");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_parse");

	tcase_add_test(tc, what_json_is);
	tcase_add_test(tc, what_it_is_not);
	tcase_add_test(tc, what_real_files_have);
	tcase_add_test(tc, depth_has_a_limit);
	tcase_add_test(tc, long_texts_and_skipping);
	tcase_add_test(tc, numbers_are_exact);
	tcase_add_test(tc, each_text_once);
	tcase_add_test(tc, what_people_read);
	return unit_run(tc, "report_parse");
}
