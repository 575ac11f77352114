/* SPDX-License-Identifier: Apache-2.0 */
/* Files that end early, are damaged, or are no JSON: what is whole of them is read. */
#include "report/read.h"
#include "report/texts.h"
#include "tests/unit/unit.h"

#include <string.h>

#define EVENT(name, ts)                                                             \
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name "\", \"pid\": 7, " \
	"\"tid\": 8, \"ts\": " ts ", \"dur\": 2.5, \"args\": {\"External id\": 3, " \
	"\"Input Dims\": [[2, 3], []], \"Input type\": [\"float\", \"\"]}}"
#define HEAD "{\"schemaVersion\": 1, \"traceEvents\": [\n"
#define TAIL "\n], \"traceName\": \"x\"}\n"

/* A stream: a text, in pieces; behind it comes its end, or an error. */
struct stream {
	const char *text;
	size_t len, at, piece;
	const char *error;
	char filler; /* so many of them come before the text's last byte */
	size_t filled;
};

static ssize_t pull(void *arg, void *bytes, size_t size, const char **why)
{
	struct stream *s = arg;
	size_t n = s->len - s->at;

	if (s->filled && n == 1) {
		n = s->filled < size ? s->filled : size;
		memset(bytes, s->filler, n);
		s->filled -= n;
		return (ssize_t)n;
	}
	n -= s->filled ? 1 : 0;
	n = n < s->piece ? n : s->piece;
	n = n < size ? n : size;
	if (!n && s->error) {
		*why = s->error;
		return -1;
	}
	memcpy(bytes, s->text + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static struct texts texts;
static struct damage damage;
static char seen[4096], why[512];
static size_t seen_n;

/* Notes an event as "name@ts:bytes ". */
static bool note(void *arg, const struct event *e)
{
	(void)arg;
	if (seen_n < sizeof(seen) - 600)
		seen_n +=
			(size_t)snprintf(seen + seen_n, sizeof(seen) - seen_n,
					 "%.500s@%lld:%lld ", texts_get(&texts, e->name),
					 (long long)e->ts, (long long)e->input_bytes);
	return true;
}

static bool no_top(void *arg, const char *key, struct parse *p, bool *taken)
{
	(void)arg, (void)key, (void)p, (void)taken;
	return true;
}

static int read_all(struct stream *s)
{
	const struct read_visitor v = { &texts, note, no_top, NULL, true, &damage };

	seen_n = 0;
	seen[0] = why[0] = '\0';
	return read_stream(pull, s, "x", &v, why, sizeof(why));
}

static int read_part(const char *text, size_t len, size_t piece)
{
	return read_all(&(struct stream){ text, len, 0, piece, NULL, 0, 0 });
}

/* Reads a whole text, in pieces of several sizes, with the same result. */
static void reads(const char *text, const char *want)
{
	static const size_t pieces[] = { 1 << 20, 64, 7, 1 };

	for (size_t i = 0; i < 4; i++) {
		ck_assert_msg(!read_part(text, strlen(text), pieces[i]), "%s", why);
		ck_assert_str_eq(seen, want);
	}
}

static void stop(void)
{
	texts_free(&texts);
}

/* ---- files that end early ---- */

/* All events that are whole are read, wherever the file ends; without any it is refused,
 * with the byte. */
START_TEST(a_file_may_end_at_every_byte)
{
	static const char file[] = HEAD EVENT("one", "1.000") ",\n" EVENT(
		"two", "2.000") ",\n" EVENT("three", "3.000") TAIL;
	static const char *const want[] = { "", "one@1000:24 ",
					    "one@1000:24 two@2000:24 ",
					    "one@1000:24 two@2000:24 three@3000:24 " };
	size_t behind[4], at = 0;

	for (unsigned i = 1; i < 4; i++) {
		at = (size_t)(strstr(file + at, "]}}") - file) + 3;
		behind[i] = at;
	}
	for (size_t len = 0; len < sizeof(file) - 1; len++) {
		unsigned whole = 0;
		int status = read_part(file, len, len % 3 ? 1 << 20 : 64);
		bool all = len >= sizeof(file) - 2; /* but for a line end */

		while (whole < 3 && len >= behind[whole + 1])
			whole++;
		ck_assert_int_eq(status, whole ? 0 : -1);
		ck_assert_str_eq(seen, want[whole]);
		ck_assert_int_eq(whole && !all, damage.broken_why != NULL);
		if (whole && !all)
			ck_assert_uint_eq(damage.broken_at, len);
		if (!whole && len)
			ck_assert_msg(strstr(why, "at byte"), "%s", why);
		ck_assert_uint_eq(damage.passed + damage.repaired, 0);
	}
}
END_TEST

START_TEST(an_error_of_the_source_is_the_reason)
{
	static const char file[] = HEAD EVENT("one", "1.000") ",\n" EVENT("two", "2.000");
	struct stream s = { file, sizeof(file) - 9, 0, 64, "the gzip data are damaged", 0,
			    0 };

	ck_assert_int_eq(read_all(&s), 0);
	ck_assert_str_eq(seen, "one@1000:24 ");
	ck_assert_str_eq(damage.broken_why, "the gzip data are damaged");
	ck_assert_uint_eq(damage.broken_at, sizeof(file) - 9);
}
END_TEST

START_TEST(damage_is_said_in_a_line)
{
	struct damage d = { "the file ends early", 12345678, 0, 0, 0, 0 };
	char line[256];

	damage_words(&d, line, sizeof(line));
	ck_assert_str_eq(line, "INCOMPLETE: the file ends early at byte 12,345,678 "
			       "(truncated, or still being written): what follows is of "
			       "the events before it");
	d = (struct damage){ NULL, 0, 3, 1, 90, 1234 };
	damage_words(&d, line, sizeof(line));
	ck_assert_str_eq(line, "INCOMPLETE: 1 stretch of the file is no JSON and passed "
			       "over, 90 bytes, the first at byte 1,234: events are "
			       "missing");
	d.passed = 0;
	damage_words(&d, line, sizeof(line));
	ck_assert_str_eq(line, "");
	ck_assert(!damage_is(&d));
}
END_TEST

/* ---- what PyTorch has written ---- */

START_TEST(names_are_repaired)
{
	static const struct {
		const char *written, *meant;
	} names[] = {
		{ "f(\"a\")", "f(\"a\")" },
		{ "say \"x\", \"y\" twice", "say \"x\", \"y\" twice" },
		{ "{\"k\": 1}", "{\"k\": 1}" },
		{ "C:\\Users\\x.py(3)", "C:\\Users\\x.py(3)" },
		{ "C:\\dir\\", "C:\\dir\\" },
		{ "\"", "\"" },
		{ "a\nb", "a\nb" },
		{ "half \\u12", "half \\u12" },
	};
	char file[2048], want[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(file, sizeof(file),
			 HEAD EVENT("one", "1.000") ",\n" EVENT(
				 "%s", "2.000") ",\n" EVENT("three", "3.000") TAIL,
			 names[i].written);
		snprintf(want, sizeof(want), "one@1000:24 %s@2000:24 three@3000:24 ",
			 names[i].meant);
		reads(file, want);
		ck_assert_uint_eq(damage.repaired, 1);
		ck_assert(!damage_is(&damage));
	}
}
END_TEST

START_TEST(values_are_repaired)
{
	reads(HEAD "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1, \"args\": "
		   "{\"bandwidth\": N/A, \"x\": nan}}" TAIL,
	      "a@1000:-1 ");
	ck_assert_uint_eq(damage.repaired, 1);
	reads(HEAD "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1, \"args\": "
		   "{\"bandwidth\": -nan(ind), \"x\": , \"y\": }}" TAIL,
	      "a@1000:-1 ");
	ck_assert_uint_eq(damage.repaired, 1);
	reads(HEAD EVENT("one", "1.000") "," TAIL, "one@1000:24 ");
	ck_assert_uint_eq(damage.repaired, 1);
	reads(HEAD EVENT("one", "1.000") "\n" EVENT("two", "2.000") TAIL,
	      "one@1000:24 two@2000:24 ");
	ck_assert_uint_eq(damage.repaired, 1);
}
END_TEST

/* ---- what cannot be repaired ---- */

START_TEST(what_is_between_events_is_passed_over)
{
	static const char *const odd[] = {
		"{\"ph\": \"X\", \"name\": {]}, ",
		"{\"ph\": \"X\", \"name\": \"no end, \n",
		"rubbish, ",
		"[[}, ",
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"na",
	};
	char file[2048];

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		snprintf(file, sizeof(file),
			 HEAD EVENT("one", "1.000") ",\n%s" EVENT(
				 "two", "2.000") ",\n" EVENT("three", "3.000") TAIL,
			 odd[i]);
		reads(file, "one@1000:24 two@2000:24 three@3000:24 ");
		ck_assert_uint_eq(damage.passed, 1);
		ck_assert_uint_eq(damage.passed_bytes, strlen(odd[i]));
		ck_assert_uint_eq(
			damage.passed_at,
			(size_t)(strstr(file + sizeof(HEAD) + 8, odd[i]) - file));
		ck_assert_ptr_null(damage.broken_why);
		ck_assert(damage_is(&damage));
	}
}
END_TEST

/* A member of an event is none, though it begins as one. */
START_TEST(no_member_is_an_event)
{
	reads(HEAD "{\"ph\": \"M\", \"name\": !, \"args\": {\"name\": \"x\"}},\n" EVENT(
		      "two", "2.000") TAIL,
	      "?@0:-1 two@2000:24 ");
	reads(HEAD
	      "{\"ph\": !!\"M\", : \"args\": {\"name\": \"x\"}},\n" EVENT("two", "2.000")
		      TAIL,
	      "two@2000:24 ");
	ck_assert_uint_eq(damage.passed, 1);
}
END_TEST

/* ---- hostile files ---- */

/* A text of 1 GB costs as much memory as a text may have; the events around it are read.
 */
START_TEST(a_text_may_have_a_gigabyte)
{
	static const char file[] =
		HEAD EVENT("one", "1.000") ",\n{\"ph\": \"X\", \"name\": \"x";
	struct stream s = { file, sizeof(file) - 1, 0, 1 << 20, NULL, 'x', 1 << 30 };

	ck_assert_int_eq(read_all(&s), 0);
	ck_assert_str_eq(seen, "one@1000:24 ");
	ck_assert_str_eq(damage.broken_why, "a text is too long");
}
END_TEST

START_TEST(a_million_levels_are_too_many)
{
	static const char head[] =
		HEAD EVENT("one", "1.000") ",\n{\"ph\": \"X\", \"args\": {\"a\": ",
			  tail[] = "1}},\n" EVENT("two", "2.000") TAIL;
	size_t levels = 1000000, at = sizeof(head) - 1;
	char *file = malloc(2 * levels + 4096);

	memcpy(file, head, at);
	memset(file + at, '[', levels);
	memset(file + at + levels, ']', levels);
	strcpy(file + at + 2 * levels, tail);
	reads(file, "one@1000:24 two@2000:24 ");
	ck_assert_uint_eq(damage.passed, 1);
	free(file);
}
END_TEST

START_TEST(a_number_may_have_any_digits)
{
	static char file[40000], digits[10001];

	memset(digits, '9', sizeof(digits) - 1);
	snprintf(file, sizeof(file),
		 HEAD "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1.%s, \"dur\": %s}" TAIL,
		 digits, digits);
	reads(file, "a@1999:-1 ");
	ck_assert(!damage_is(&damage));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_broken");

	tcase_add_checked_fixture(tc, NULL, stop);
	tcase_add_test(tc, a_file_may_end_at_every_byte);
	tcase_add_test(tc, an_error_of_the_source_is_the_reason);
	tcase_add_test(tc, damage_is_said_in_a_line);
	tcase_add_test(tc, names_are_repaired);
	tcase_add_test(tc, values_are_repaired);
	tcase_add_test(tc, what_is_between_events_is_passed_over);
	tcase_add_test(tc, no_member_is_an_event);
	tcase_add_test(tc, a_text_may_have_a_gigabyte);
	tcase_add_test(tc, a_million_levels_are_too_many);
	tcase_add_test(tc, a_number_may_have_any_digits);
	return unit_run(tc, "report_broken");
}
