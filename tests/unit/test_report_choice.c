/* SPDX-License-Identifier: Apache-2.0 */
#include "report/choice.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], why[2 * PATH_MAX];
static struct choice choice;
static int moment; /* each file is newer than the one before it */

static void setup(void)
{
	strcpy(dir, "/tmp/choice.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	moment = 0;
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void put(const char *name, const char *content)
{
	char path[128];
	struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
				     { .tv_sec = 1000000 + ++moment } };
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(content, file);
	fflush(file); /* later it would be a change */
	ck_assert_int_eq(futimens(fileno(file), times), 0);
	fclose(file);
}

/* A file of proflaunch: its events come behind the head. */
static void put_ours(const char *name, const char *job, int rank, int window, int ops)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"distributedInfo\": {\"rank\": %d, \"world_size\": %d},\n"
		"\"proflaunch\": {\"window\": {\"number\": %d, \"complete\": true}, "
		"\"process\": {\"pid\": 1, \"job\": \"%s\"}, \"events\": {\"operators\": "
		"%d}}, \"traceEvents\": []}",
		rank < 0 ? 0 : rank, rank < 0 ? 1 : 4, window, job, ops);
	put(name, text);
}

/* The same, of another process. */
static void put_of(int pid, const char *name, int window)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"proflaunch\": {\"window\": {\"number\": %d}, \"process\": {\"pid\": "
		 "%d, \"job\": \"j\"}, \"events\": {\"operators\": 3}}, "
		 "\"traceEvents\": []}",
		 window, pid);
	put(name, text);
}

static void wish(int64_t rank, int64_t window)
{
	choice = (struct choice){ .rank = rank, .window = window };
}

static const char *chosen(void)
{
	ck_assert_msg(choice_make(&choice, dir, why, sizeof(why)), "%s", why);
	return choice.path + strlen(dir) + 1;
}

static void refused(const char *says)
{
	ck_assert(!choice_make(&choice, dir, why, sizeof(why)));
	ck_assert_msg(strstr(why, says) != NULL, "no \"%s\" in %s", says, why);
}

START_TEST(the_newest_run_counts)
{
	put_ours("new.pt.trace.json", "b", -1, 1, 9);
	put_ours("old.pt.trace.json", "a", -1, 7, 9);
	put_ours("last.pt.trace.json", "b", -1, 2, 9);
	wish(CHOICE_ANY, CHOICE_ANY);
	ck_assert_str_eq(chosen(), "last.pt.trace.json");
	ck_assert_msg(strstr(choice.line,
			     "window 2, of the newest run; one of 3 traces") != NULL,
		      "%s", choice.line);
	ck_assert_ptr_nonnull(strstr(choice.line, "--window (1 to 2), or its path"));
	wish(CHOICE_ANY, 1);
	ck_assert_str_eq(chosen(), "new.pt.trace.json");
	wish(CHOICE_ANY, 7);
	refused("no trace of window 7 in the newest run: it has no ranks, and windows 1 to 2");
}
END_TEST

/* In their order; other processes' and other runs' are left out. */
START_TEST(all_windows_of_a_process_are_found)
{
	put_ours("old.pt.trace.json", "a", -1, 1, 9);
	put_of(7, "second.pt.trace.json", 2);
	put_of(8, "other.pt.trace.json", 1);
	put_of(7, "first.pt.trace.json", 1);
	wish(CHOICE_ANY, CHOICE_ANY);
	choice.all = true;
	ck_assert_str_eq(chosen(), "first.pt.trace.json");
	ck_assert_uint_eq(choice.windows_n, 2);
	ck_assert_str_eq(choice.windows[0] + strlen(dir) + 1, "first.pt.trace.json");
	ck_assert_str_eq(choice.windows[1] + strlen(dir) + 1, "second.pt.trace.json");
	choice_free(&choice);
	ck_assert_uint_eq(choice.windows_n, 0);
}
END_TEST

START_TEST(the_lowest_rank_counts)
{
	put_ours("b.pt.trace.json", "n1", 1, 1, 9);
	put_ours("a.pt.trace.json", "n1", 0, 1, 9);
	put_ours("c.pt.trace.json", "n2", 3, 1, 9); /* another host, the same run */
	wish(CHOICE_ANY, CHOICE_ANY);
	ck_assert_str_eq(chosen(), "a.pt.trace.json");
	ck_assert_ptr_nonnull(strstr(choice.line, "rank 0, window 1, of the newest run"));
	ck_assert_ptr_nonnull(strstr(choice.line, "--rank (0 to 3), or its path"));
	wish(3, CHOICE_ANY);
	ck_assert_str_eq(chosen(), "c.pt.trace.json");
	wish(2, CHOICE_ANY);
	refused("no trace of rank 2 in the newest run: it has ranks 0 to 3");
}
END_TEST

START_TEST(what_has_operators_comes_before_what_is_newer)
{
	mkdir(strcat(strcpy(why, dir), "/children"), 0777);
	put_ours("main.pt.trace.json", "a", -1, 1, 9);
	put_ours("children/worker.pt.trace.json", "a", -1, 2, 9);
	put_ours("shell.pt.trace.json", "a", -1, 1, 0);
	wish(CHOICE_ANY, CHOICE_ANY);
	ck_assert_str_eq(chosen(), "main.pt.trace.json");
	put_ours("later.pt.trace.json", "b", -1, 1, 0);
	ck_assert_str_eq(chosen(), "main.pt.trace.json");
}
END_TEST

START_TEST(unfinished_files_are_passed_over)
{
	put("bare.pt.trace.json", "[{\"ph\":\"X\"}]\n");
	put("half.pt.trace.json", "{\"traceEvents\": [{\"ph\":\"X\"},\n");
	put("none.pt.trace.json", "");
	wish(CHOICE_ANY, CHOICE_ANY);
	ck_assert_str_eq(chosen(), "bare.pt.trace.json");
	ck_assert_ptr_nonnull(strstr(choice.line, "the only finished trace below "));
	put("also.pt.trace.json", "{\"traceEvents\": []}");
	ck_assert_str_eq(chosen(), "also.pt.trace.json");
	ck_assert_ptr_nonnull(strstr(choice.line, "where others are not finished"));
}
END_TEST

START_TEST(nothing_is_said_with_its_reason)
{
	wish(CHOICE_ANY, CHOICE_ANY);
	refused("no trace files (*.pt.trace.json) below it");
	put("half.pt.trace.json", "{");
	refused("of 1 trace files below it none is finished");
	teardown();
	refused("No such file or directory");
	setup();
}
END_TEST

/* Files are changed at 1,000,001 s and a second after each other. */
START_TEST(earlier_runs_may_be_left_out)
{
	put_ours("old.pt.trace.json", "a", -1, 1, 9);
	put_ours("new.pt.trace.json", "b", -1, 1, 0);
	wish(CHOICE_ANY, CHOICE_ANY);
	ck_assert_str_eq(chosen(), "old.pt.trace.json");
	choice.since = INT64_C(1000002) * 1000000000;
	ck_assert_str_eq(chosen(), "new.pt.trace.json");
	choice.since++;
	refused("none is finished");
}
END_TEST

START_TEST(a_file_that_is_named_is_taken_as_it_is)
{
	char path[128];

	put("half.json", "{");
	snprintf(path, sizeof(path), "%s/half.json", dir);
	wish(CHOICE_ANY, CHOICE_ANY);
	ck_assert(choice_make(&choice, path, why, sizeof(why)));
	ck_assert_str_eq(choice.path, path);
	ck_assert_str_eq(choice.line, "");
	wish(0, CHOICE_ANY);
	ck_assert(!choice_make(&choice, path, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "is one trace: --rank and --window"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_choice");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_newest_run_counts);
	tcase_add_test(tc, all_windows_of_a_process_are_found);
	tcase_add_test(tc, the_lowest_rank_counts);
	tcase_add_test(tc, what_has_operators_comes_before_what_is_newer);
	tcase_add_test(tc, unfinished_files_are_passed_over);
	tcase_add_test(tc, nothing_is_said_with_its_reason);
	tcase_add_test(tc, earlier_runs_may_be_left_out);
	tcase_add_test(tc, a_file_that_is_named_is_taken_as_it_is);
	return unit_run(tc, "report_choice");
}
