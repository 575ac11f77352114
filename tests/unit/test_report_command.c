/* SPDX-License-Identifier: Apache-2.0 */
/* `proflaunch memory`: its command line, and its status. */
#include "launcher/memory.h"
#include "tests/unit/said.h"

#include <sys/stat.h>

static char dir[] = "/tmp/report_command-XXXXXX";

static const char trace[] =
	"{\"traceEvents\":[{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,"
	"\"ts\":1,\"args\":{\"Addr\":64,\"Bytes\":8,\"Total Allocated\":1,"
	"\"Total Reserved\":0,\"Device Type\":0,\"Device Id\":-1}},"
	"{\"ph\":\"M\",\"name\":\"end\"}]}";

static void enter(void)
{
	FILE *f;

	strcpy(dir, "/tmp/report_command-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	f = fopen("good.json", "w");
	fputs(trace, f);
	fclose(f);
	f = fopen("bad.json", "w");
	fputs("[]", f);
	fclose(f);
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
}

static char told[8192];

static int memory(const char *one, const char *two, const char *three)
{
	char *argv[] = { (char *)one, (char *)two, (char *)three, NULL };
	int status;

	said_start();
	status = memory_main(argv);
	snprintf(told, sizeof(told), "%s", said());
	return status;
}

START_TEST(a_range_of_steps_rises)
{
	static const char *const wrong[] = { "9-3", "-3", "3-", "x", "1-x", "1-2-3", "" };
	static const char *const right[] = { "3-9", "3-3", "3", "0-0" };

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		ck_assert_int_eq(memory("--step", wrong[i], "good.json"), 2);
		ck_assert_msg(strstr(told, *wrong[i] ? "neither a step nor A-B"
						     : "its value is missing") != NULL,
			      "%s: %s", wrong[i], told);
	}
	for (unsigned i = 0; i < sizeof(right) / sizeof(*right); i++) {
		ck_assert_int_eq(memory("--step", right[i], "good.json"), 0);
		ck_assert_str_eq(told, "");
	}
}
END_TEST

/* Of several files the worst, in any order. */
START_TEST(the_status_is_the_worst_one)
{
	ck_assert_int_eq(memory("good.json", NULL, NULL), 0);
	ck_assert_int_eq(memory("good.json", "bad.json", NULL), 2);
	ck_assert_int_eq(memory("bad.json", "good.json", NULL), 2);
	ck_assert_int_eq(memory("good.json", "gone.json", "good.json"), 2);
}
END_TEST

/* ---- several files, and a directory ---- */

/* A process's heap of one site, and what stands before it. */
static void put_process(const char *name, int pid, long long peak, int each, int steps,
			const char *more)
{
	FILE *f = fopen(name, "w");

	fprintf(f,
		"{\"distributedInfo\":{\"backend\":\"\",\"rank\":%d},\"proflaunch\":{%s"
		"\"process\":{\"pid\":%d,\"name\":\"prog%d\"},\"window\":{\"number\":2},"
		"\"heap\":{\"mode\":\"all\",\"since\":\"window\",\"peak\":{\"ts\":1,"
		"\"bytes\":%lld,\"step\":1},\"steps\":[",
		pid % 10, more, pid, pid, peak);
	for (int i = 0; i < steps; i++)
		fprintf(f, "%s%d", i ? "," : "", i);
	fputs("],\"total\":{\"allocs\":9},\"sites\":[{\"allocs\":9,\"call\":\"malloc\","
	      "\"steps\":[",
	      f);
	for (int i = 0; i < steps; i++)
		fprintf(f, "%s%d", i ? "," : "", (i + 1) * each);
	fputs("]}],\"other\":{}}},\"traceEvents\":[{\"ph\":\"M\",\"name\":\"end\"}]}", f);
	fclose(f);
}

static char *printed(const char *one, const char *two, const char *three, int want)
{
	static char text[16384];
	size_t n;
	FILE *f;

	ck_assert_ptr_nonnull(freopen("printed", "w", stdout));
	ck_assert_int_eq(memory(one, two, three), want);
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
	f = fopen("printed", "r");
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void says(const char *all, const char *part)
{
	ck_assert_msg(strstr(all, part) != NULL, "no \"%s\" in\n%s", part, all);
}

/* A leak somewhere is one, whatever cannot be told of the others. */
START_TEST(a_leak_wins)
{
	put_process("leaks.json", 7, 9 << 20, 1 << 20, 20, "");
	put_process("steady.json", 8, 9 << 20, 10, 20, "");
	put_process("short.json", 9, 9 << 20, 10, 2, "");
	ck_assert_int_eq(memory("--leaks", "leaks.json", "short.json"), 1);
	ck_assert_int_eq(memory("--leaks", "short.json", "leaks.json"), 1);
	ck_assert_int_eq(memory("--leaks", "short.json", "steady.json"), 2);
	ck_assert_int_eq(memory("--leaks", "steady.json", "short.json"), 2);
	ck_assert_int_eq(memory("--leaks", "steady.json", NULL), 0);
	ck_assert_int_eq(memory("--leaks", "steady.json", "gone.json"), 2);
}
END_TEST

START_TEST(a_directory_has_a_table)
{
	const char *torch = "\"facts\":{\"torch\":{\"torch\":\"2.0\"}},";
	const char *script = "\"facts\":{\"script\":\"-m a\\u001bb\"},", *all, *report;

	ck_assert_int_eq(mkdir("log", 0700), 0);
	put_process("log/a.pt.trace.json", 11, 6 << 20, 10, 20, "");
	put_process("log/b.pt.trace.json", 12, 9 << 20, 1 << 20, 20, "");
	put_process("log/c.pt.trace.json", 13, 1 << 20, 10, 20, torch);
	put_process("log/d.pt.trace.json", 14, 5 << 20, 10, 20, script);
	for (int i = 0; i < 3; i++) {
		char name[64];

		snprintf(name, sizeof(name), "log/small%d.pt.trace.json", i);
		put_process(name, 20 + i, 1000 + i, 10, 20, "");
	}
	all = printed("log", NULL, NULL, 0);
	says(all, "log: 7 trace files\n");
	says(all,
	     "     9.0 MiB      1.0 MiB          -       12     2      2  prog12\n"
	     "      b.pt.trace.json\n"
	     "     6.0 MiB         10 B          -       11     1      2  prog11\n"
	     "      a.pt.trace.json\n"
	     "     5.0 MiB         10 B          -       14     4      2  prog14 -m a?b\n"
	     "      d.pt.trace.json\n"
	     "     1.0 MiB         10 B          -       13     3      2  prog13\n");
	says(all, "      1002 B ");
	says(all, "3 small processes (no PyTorch, less than 4.0 MiB each)\n");
	/* The report is that of the largest. */
	report = strstr(all, "process: ");
	ck_assert_ptr_nonnull(report);
	says(report, "process: prog12 (pid 12, rank 2), window 2\nlog/b.pt.trace.json: ");
	ck_assert_ptr_null(strstr(report + 1, "process: prog"));
	says(printed("--leaks", "log", NULL, 1), "log/a.pt.trace.json: no steady growth");
	ck_assert_int_eq(memory("--timeline", "x.html", "log"), 2);
	says(printed("--json", "log", NULL, 0),
	     "\"process\": \"prog12\", \"script\": null, \"stage\": null, \"pid\": 12, ");
	ck_assert_int_eq(mkdir("empty", 0700), 0);
	ck_assert_int_eq(memory("empty", NULL, NULL), 2);
	says(told, "empty: no trace files (*.pt.trace.json) below it");
}
END_TEST

/* What the numbers are worth is said before them. */
START_TEST(what_is_missing_is_said_first)
{
	const char *more =
		"\"configuration\":{\"buffer_mb\":\"64\"},\"events\":{\"operators\":100,"
		"\"heap_frees\":900},\"drops\":{\"heap_frees\":500},\"drop reasons\":{"
		"\"buffer full\":500},";
	const char *other =
		"\"drops\":{\"heap_frees\":5},\"drop reasons\":{\"in a signal\":5},";
	const char *said_first =
		"INCOMPLETE: 500 records are missing; --buffer-mb 128 should hold "
		"them\nprocess: prog7 (pid 7, rank 7), window 2\n";
	size_t len = strlen(said_first);

	put_process("full.json", 7, 9 << 20, 1 << 20, 20, more);
	ck_assert_int_eq(strncmp(printed("full.json", NULL, NULL, 0), said_first, len),
			 0);
	ck_assert_int_eq(
		strncmp(printed("--leaks", "full.json", NULL, 2), said_first, len), 0);
	put_process("other.json", 7, 9 << 20, 1 << 20, 20, other);
	says(printed("other.json", NULL, NULL, 0),
	     "INCOMPLETE: 5 records are missing; \"drop reasons\" in the file says why\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_command");

	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_test(tc, a_range_of_steps_rises);
	tcase_add_test(tc, the_status_is_the_worst_one);
	tcase_add_test(tc, a_leak_wins);
	tcase_add_test(tc, a_directory_has_a_table);
	tcase_add_test(tc, what_is_missing_is_said_first);
	return unit_run(tc, "report_command");
}
