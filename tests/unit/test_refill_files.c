/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the call stacks of files that are finished, and what stays as it was. */
#include "launcher/recover/recover.h"
#include "launcher/recover/refill.h"
#include "launcher/recover/refill_events.h"
#include "launcher/symbols/symbolize.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- who answers ---- */

static char asked[4096]; /* the question, its NULs as '|' */
static unsigned unknown; /* the n-th frame of the question has no name; 0 = all have */

/* In the place of the launcher's: "<file>@<offset>", and at 0x10 an inlined one. */
int known_ask(const char *question, size_t len, int64_t ns,
	      int (*take)(void *arg, const char *text, size_t n), void *arg)
{
	const char *module = "", *item;
	char text[256];
	unsigned n = 0;

	(void)ns;
	ck_assert_uint_lt(len, sizeof(asked));
	for (size_t i = 0; i < len; i++)
		asked[i] = question[i] ? question[i] : '|';
	asked[len] = '\0';
	for (item = question; item < question + len; item += strlen(item) + 1) {
		if (*item == 'm') {
			module = strrchr(item, '/') + 1;
			continue;
		}
		if (++n != unknown && !strcmp(item, "f10"))
			take(arg, "inlined (x.h:1)", 16);
		if (n != unknown)
			take(arg, text,
			     (size_t)snprintf(text, sizeof(text), "%s@%s", module,
					      item + 1) +
				     1);
		take(arg, "", 1);
	}
	return 0;
}

/* ---- files ---- */

#define HEAD                                                                          \
	"{\n\"schemaVersion\": 1,\n\"proflaunch\": {\"version\": \"1\",\n\"heap\": {" \
	"\"mode\": \"all\",\n\"symbols\": false,\n\"modules\": ["                     \
	"{\"path\": \"/lib/a.so\", \"build_id\": \"ab\"},\n"                          \
	"{\"path\": \"/lib/b.so\", \"build_id\": \"cd\"}],\n\"frames\": ["            \
	"\"?? (a.so+0x10)\",\n\"main (m.c:1)\",\n\"?? (b.so+0x20)\",\n"               \
	"\"?? (a.so+0x30)\"],\n\"raw\": [[2, 1, 32], [0, 0, 16], [3, 0, 48]],\n"      \
	"\"stacks\": [[0, 1],\n[2, 3, 1]],\n\"sites\": []}},\n\"traceEvents\": [\n"
#define EVENT(stack)                                                             \
	"{\"ph\":\"i\",\"cat\":\"heap\",\"s\":\"t\",\"name\":\"malloc 1 MiB\","  \
	"\"pid\":1,\"args\":{\"bytes\":9,\"stack\":" #stack ",\"site\":\"old\"," \
	"\"op\":null}},\n"
#define OTHER \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"say \\\"heap\\\"\",\"ts\":1},\n"
#define TAIL "{\"ph\":\"M\"}\n]}\n"

static char dir[64], path[128], text[1 << 20];

static void begin(void)
{
	strcpy(dir, "/tmp/refill-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	unknown = 0;
	asked[0] = '\0';
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

static void put_file(const char *what)
{
	FILE *f;

	snprintf(path, sizeof(path), "%s/x.pt.trace.json", dir);
	f = fopen(path, "w");
	fputs(what, f);
	fclose(f);
}

/* A compressed one of the two as members of their own. */
static void put_members(const char *one, const char *other)
{
	gzFile gz;

	snprintf(path, sizeof(path), "%s/x.pt.trace.json.gz", dir);
	gz = gzopen(path, "wb");
	gzputs(gz, one);
	gzclose(gz);
	gz = gzopen(path, "ab");
	gzputs(gz, other);
	gzclose(gz);
}

static const char *read_back(void)
{
	gzFile gz = gzopen(path, "rb");
	int n = gzread(gz, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	gzclose(gz);
	return text;
}

static struct refill refilled(void)
{
	struct refill r = { 0 };

	refill_file(&r, path);
	return r;
}

static void has(const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no %s in\n%s", part, text);
}

static void is_filled(void)
{
	read_back();
	has("\"symbols\": true,\n\"modules\": [],");
	has("\"frames\": [\"inlined (x.h:1)\",\n\"a.so@10\",\n\"main (m.c:1)\",\n"
	    "\"b.so@20\",\n\"a.so@30\"],\n\"raw\": [],");
	has("\"stacks\": [[0, 1, 2],\n[3, 4, 2]],\n\"sites\": []");
	has("\"stack\":0,\"site\":\"inlined (x.h:1) < a.so@10 < main (m.c:1)\",\"op\"");
	has("\"stack\":1,\"site\":\"b.so@20 < a.so@30 < main (m.c:1)\",\"op\"");
	has(OTHER);
	has(TAIL);
}

/* Each module with its frames, in any order that the file has them. */
START_TEST(names_come_to_their_frames)
{
	put_file(HEAD EVENT(0) OTHER EVENT(1) TAIL);
	ck_assert_uint_eq(refilled().filled, 1);
	ck_assert_str_eq(asked, "mab:/lib/a.so|f10|f30|mcd:/lib/b.so|f20|");
	is_filled();
	/* Nothing is left to do. */
	asked[0] = '\0';
	ck_assert_uint_eq(refilled().filled, 0);
	ck_assert_str_eq(asked, "");
}
END_TEST

/* Wherever the members of a compressed file cut its lines. */
START_TEST(lines_may_be_cut_anywhere)
{
	static const char all[] = HEAD EVENT(0) OTHER EVENT(1) TAIL;
	size_t from = strlen(HEAD) - 20;
	char one[sizeof(all)];

	for (size_t cut = from; cut < sizeof(all) - 1; cut += 7) {
		memcpy(one, all, cut);
		one[cut] = '\0';
		put_members(one, all + cut);
		ck_assert_uint_eq(refilled().filled, 1);
		is_filled();
	}
}
END_TEST

START_TEST(what_has_no_name_yet_is_asked_again)
{
	unknown = 2; /* a.so+0x30 */
	put_file(HEAD EVENT(0) TAIL);
	ck_assert_uint_eq(refilled().filled, 1);
	read_back();
	has("\"symbols\": false");
	has("\"raw\": [[4, 0, 48]]");
	has("\"path\": \"/lib/a.so\"");
	unknown = 0;
	ck_assert_uint_eq(refilled().filled, 1);
	ck_assert_str_eq(asked, "mab:/lib/a.so|f30|");
	read_back();
	has("\"symbols\": true");
}
END_TEST

START_TEST(the_mode_stays)
{
	struct stat st;

	put_file(HEAD TAIL);
	ck_assert_int_eq(chmod(path, 0604), 0);
	ck_assert_uint_eq(refilled().filled, 1);
	stat(path, &st);
	ck_assert_uint_eq(st.st_mode & 07777, 0604);
}
END_TEST

START_TEST(others_files_are_let_alone)
{
	if (geteuid())
		return;
	put_file(HEAD TAIL);
	ck_assert_int_eq(chown(path, 4242, (gid_t)-1), 0);
	ck_assert_uint_eq(refilled().filled, 0);
	has(strstr(read_back(), "\"symbols\": false"));
}
END_TEST

/* What cannot be unpacked is behind what could. */
START_TEST(a_damaged_end_stays)
{
	static char whole[1 << 16];
	size_t n;
	FILE *f;

	put_members(HEAD EVENT(0), OTHER TAIL);
	f = fopen(path, "ab");
	fputs("\x1f\x8bno gzip at all", f);
	fclose(f);
	ck_assert_uint_eq(refilled().filled, 1);
	f = fopen(path, "rb");
	n = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	ck_assert_uint_gt(n, 16);
	ck_assert_int_eq(memcmp(whole + n - 16, "\x1f\x8bno gzip at all", 16), 0);
}
END_TEST

/* Numbers that no list has: the file stays as it is. */
static const struct {
	const char *from, *to;
} lies[] = {
	{ "[0, 1],\n[2, 3, 1]", "[0, 9999999999]" },
	{ "[0, 1],\n[2, 3, 1]", "[4]" },
	{ "[0, 1],\n[2, 3, 1]", "[18446744073709551616]" },
	{ "[[2, 1, 32], ", "[[2, 1], " },
};

START_TEST(lies_change_nothing)
{
	static const char all[] = HEAD EVENT(0) TAIL;
	const char *at = strstr(all, lies[_i].from);
	static char lie[sizeof(all) + 64];

	snprintf(lie, sizeof(lie), "%.*s%s%s", (int)(at - all), all, lies[_i].to,
		 at + strlen(lies[_i].from));
	put_file(lie);
	ck_assert_uint_eq(refilled().filled, 0);
	ck_assert_str_eq(read_back(), lie);
}
END_TEST

/* ---- the command ---- */

/* Those of processes that followed another one lie one folder further down. */
START_TEST(childrens_files_get_names_too)
{
	char top[64], *children = dir;
	static struct args a;

	strcpy(top, dir);
	put_file(HEAD EVENT(1) TAIL);
	strcat(children, "/children");
	ck_assert_int_eq(mkdir(children, 0700), 0);
	put_file(HEAD EVENT(1) TAIL);
	a = (struct args){ .operands = 1, .operand = { top } };
	config_defaults(&a.config);
	ck_assert_int_eq(recover_main(&a), 0);
	ck_assert_ptr_nonnull(strstr(read_back(), "a.so@10"));
	strcpy(dir, top);
	snprintf(path, sizeof(path), "%s/x.pt.trace.json", dir);
	ck_assert_ptr_nonnull(strstr(read_back(), "a.so@10"));
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_a_failure)
{
	struct rlimit all, little;
	static struct args a;
	int status;

	put_file(HEAD EVENT(1) TAIL);
	a = (struct args){ .operands = 1, .operand = { dir } };
	config_defaults(&a.config);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &all), 0);
	little = (struct rlimit){ 16, all.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
	status = recover_main(&a);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
	ck_assert_int_eq(status, 1);
	ck_assert_str_eq(read_back(), HEAD EVENT(1) TAIL);
}
END_TEST

/* ---- the events alone ---- */

static void keep(void *arg, const char *part, size_t len)
{
	strncat(arg, part, len);
}

/* An allocation whose stack is none, or has frames that no list has, stays. */
START_TEST(sites_of_no_stack_stay)
{
	static const char heap[] =
		"{\"frames\": [\"f (f.c:1)\"], \"stacks\": [[0], [1], [9999999999], []]}";
	static const char lines[] = EVENT(0) EVENT(1) EVENT(2) EVENT(3) EVENT(4)
		EVENT(99999999999999999999) EVENT(null);
	static struct refill_events e;
	static char out[8192];

	e = (struct refill_events){ .put = keep, .arg = out };
	ck_assert(refill_events_open(&e, (struct span){ heap, heap + strlen(heap) }));
	refill_events_text(&e, lines, strlen(lines));
	refill_events_last(&e);
	refill_events_close(&e);
	ck_assert_ptr_nonnull(strstr(out, "\"stack\":0,\"site\":\"f (f.c:1)\""));
	ck_assert_ptr_nonnull(strstr(out, "\"stack\":1,\"site\":\"old\""));
	ck_assert_ptr_nonnull(strstr(out, "\"stack\":2,\"site\":\"old\""));
	ck_assert_ptr_nonnull(strstr(out, "\"stack\":4,\"site\":\"old\""));
	ck_assert_ptr_nonnull(strstr(out, "\"stack\":null,\"site\":\"old\""));
	ck_assert_uint_eq(strlen(out), strlen(lines) + strlen("f (f.c:1)") - 3);
}
END_TEST

/* ---- pieces of JSON ---- */

static struct span span_of(const char *s)
{
	return (struct span){ s, s + strlen(s) };
}

START_TEST(strings_are_read_as_json)
{
	static const struct {
		const char *json, *want;
	} rows[] = {
		{ "\"plain\"", "plain" },
		{ "\"a \\\"b\\\" \\\\\"", "a \"b\" \\" },
		{ "\"\\u00fc\\u20ac\\u0041\"", "\xc3\xbc\xe2\x82\xac"
					       "A" },
		{ "\"\\n\\t\\/\"", "\n\t/" },
	};
	struct span inside, item;
	uint64_t n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *got = span_string(span_of(rows[i].json));

		ck_assert_str_eq(got, rows[i].want);
		free(got);
	}
	ck_assert(span_open(span_of("[\"a\\\"]\", 2]"), '[', &inside));
	ck_assert(span_item(&inside, &item));
	ck_assert(span_is(item, "\"a\\\"]\""));
	ck_assert(span_item(&inside, &item));
	ck_assert(span_is(item, "2"));
	ck_assert(!span_item(&inside, &item));
	ck_assert(span_open(span_of("[\"a\\\\\", 2]"), '[',
			    &inside)); /* it ends in a backslash */
	ck_assert(span_item(&inside, &item));
	ck_assert(span_is(item, "\"a\\\\\""));
	ck_assert(span_number(span_of("9999999999999999999"), &n));
	ck_assert(!span_number(span_of("18446744073709551617"), &n));
	ck_assert(!span_number(span_of("-1"), &n));
	ck_assert(!span_number(span_of(""), &n));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("refill");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, names_come_to_their_frames);
	tcase_add_test(tc, lines_may_be_cut_anywhere);
	tcase_add_test(tc, what_has_no_name_yet_is_asked_again);
	tcase_add_test(tc, the_mode_stays);
	tcase_add_test(tc, others_files_are_let_alone);
	tcase_add_test(tc, a_damaged_end_stays);
	tcase_add_loop_test(tc, lies_change_nothing, 0, sizeof(lies) / sizeof(*lies));
	tcase_add_test(tc, childrens_files_get_names_too);
	tcase_add_test(tc, a_file_that_cannot_be_written_is_a_failure);
	tcase_add_test(tc, sites_of_no_stack_stay);
	tcase_add_test(tc, strings_are_read_as_json);
	return unit_run(tc, "refill");
}
