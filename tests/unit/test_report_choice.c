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

/* A file of a stage of a run. */
static void put_staged(const char *name, int rank, const char *stage, int number,
		       int window)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"stage\": \"%s\", \"distributedInfo\": {\"rank\": %d, "
		 "\"world_size\": 2}, \"proflaunch\": {\"window\": {\"number\": %d, "
		 "\"stage\": %d}, \"process\": {\"pid\": 1, \"job\": \"j\"}, "
		 "\"events\": {\"operators\": 3}}, \"traceEvents\": []}",
		 stage, rank, window, number);
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
	ck_assert_ptr_nonnull(strstr(why, "is one trace: --rank, --stage and --window"));
}
END_TEST

static void has_windows(const char *first, const char *second)
{
	ck_assert_uint_eq(choice.windows_n, 2);
	ck_assert_str_eq(choice.windows[0] + strlen(dir) + 1, first);
	ck_assert_str_eq(choice.windows[1] + strlen(dir) + 1, second);
	choice_free(&choice);
}

static void put_stages(void)
{
	put_staged("train1.pt.trace.json", 0, "train", 1, 1);
	put_staged("val1.pt.trace.json", 0, "validation", 2, 1);
	put_staged("train2.pt.trace.json", 0, "train", 1, 2);
	put_staged("other.pt.trace.json", 1, "train", 1, 2);
	put_staged("val2.pt.trace.json", 0, "validation", 2, 2);
	put_staged("val3.pt.trace.json", 0, "validation", 2, 3);
	put_staged("late.pt.trace.json", 1, "validation", 2, 2);
}

START_TEST(the_first_stage_counts)
{
	put_stages();
	wish(CHOICE_ANY, CHOICE_ANY);
	ck_assert_str_eq(chosen(), "train2.pt.trace.json");
	ck_assert_str_eq(choice.chosen, "train");
	ck_assert_msg(strstr(choice.line,
			     ": rank 0, stage train, window 2, of the newest "
			     "run; one of 7 traces") != NULL,
		      "%s", choice.line);
	ck_assert_msg(strstr(choice.line,
			     ": --rank (0 to 1), --stage (train, validation), --window "
			     "(1 to 2), or its path chooses another") != NULL,
		      "%s", choice.line);
	choice.window = 3;
	ck_assert_str_eq(chosen(), "val3.pt.trace.json");
	wish(CHOICE_ANY, CHOICE_ANY);
	choice.stage = "validation";
	ck_assert_str_eq(chosen(), "val3.pt.trace.json");
	ck_assert_ptr_nonnull(strstr(choice.line, "--window (1 to 3)"));
}
END_TEST

START_TEST(windows_and_ranks_are_of_one_stage)
{
	put_stages();
	wish(CHOICE_ANY, CHOICE_ANY);
	choice.all = true;
	ck_assert_str_eq(chosen(), "train2.pt.trace.json");
	has_windows("train1.pt.trace.json", "train2.pt.trace.json");
	wish(CHOICE_ANY, 2);
	choice.ranks = true;
	choice.stage = "validation";
	ck_assert_str_eq(chosen(), "val2.pt.trace.json");
	has_windows("val2.pt.trace.json", "late.pt.trace.json");
	choice.stage = NULL;
	ck_assert_str_eq(chosen(), "train2.pt.trace.json");
	has_windows("train2.pt.trace.json", "other.pt.trace.json");
}
END_TEST

START_TEST(a_stage_that_is_not_there_is_said)
{
	put_stages();
	wish(1, CHOICE_ANY);
	choice.stage = "test";
	refused("no trace of rank 1 of stage test in the newest run: it has stages train, "
		"validation, ranks 0 to 1, and windows 1 to 3");
	choice.stage = "train";
	choice.window = 1;
	refused("no trace of rank 1 of stage train of window 1 in the newest run: it has "
		"stages train, validation, ranks 0 to 1, and windows 1 to 2");
	put_ours("next.pt.trace.json", "k", -1, 1, 9);
	wish(CHOICE_ANY, CHOICE_ANY);
	choice.stage = "train";
	refused("it has no stages, no ranks, and windows 1");
}
END_TEST

/* What some of a run is of is said only where there is such a part. */
START_TEST(what_is_of_no_stage_comes_first)
{
	put_of(1, "plain.pt.trace.json", 1);
	put_staged("val.pt.trace.json", -1, "validation", 1, 1);
	wish(CHOICE_ANY, CHOICE_ANY);
	ck_assert_str_eq(chosen(), "plain.pt.trace.json");
	ck_assert_str_eq(choice.chosen, "");
	ck_assert_msg(strstr(choice.line, ": window 1, of the newest run") != NULL, "%s",
		      choice.line);
	ck_assert_ptr_nonnull(strstr(choice.line, "--stage (validation), or its path"));
}
END_TEST

/* Metadata of others may be called that; a name that no stage has is none. */
START_TEST(what_is_called_a_stage_need_not_be_one)
{
	static const char *const heads[] = {
		"\"stage\": \"warm\", \"proflaunch\": {\"window\": {\"number\": 1}}",
		"\"stage\": \"a/../b\", \"proflaunch\": {\"window\": {\"stage\": 1}}",
		"\"stage\": \"\", \"proflaunch\": {\"window\": {\"stage\": 1}}",
		"\"stage\": \"a2345678901234567890123456789012\", \"proflaunch\": "
		"{\"window\": {\"stage\": 1}}",
		"\"stage\": 7, \"proflaunch\": {\"window\": {\"stage\": 1}}",
		"\"stage\": \"warm\", \"proflaunch\": {\"window\": {\"stage\": -1}}",
		"\"stage\": \"warm\"",
	};
	char text[256];

	put_ours("other.pt.trace.json", "j", -1, 1, 0);
	wish(CHOICE_ANY, CHOICE_ANY);
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		snprintf(text, sizeof(text), "{%s, \"traceEvents\": []}", heads[i]);
		put("a.pt.trace.json", text);
		ck_assert_str_eq(chosen(), "a.pt.trace.json");
		ck_assert_msg(!strstr(choice.line, "stage"), "%s", choice.line);
	}
	put("a.pt.trace.json",
	    "{\"stage\": \"a234567890123456789012345678901\", \"stage\": "
	    "\"b\", \"proflaunch\": {\"window\": {\"stage\": 1}}, "
	    "\"traceEvents\": []}");
	ck_assert_str_eq(chosen(), "a.pt.trace.json");
	ck_assert_str_eq(choice.chosen, "a234567890123456789012345678901");
}
END_TEST

/* A list that is too long ends early. */
START_TEST(many_stages_are_no_harm)
{
	char name[64], stage[64];

	for (int i = 1; i <= 20; i++) {
		snprintf(name, sizeof(name), "%d.pt.trace.json", i);
		snprintf(stage, sizeof(stage), "%031d", i);
		put_staged(name, 0, stage, i, 1);
	}
	wish(CHOICE_ANY, CHOICE_ANY);
	ck_assert_str_eq(chosen(), "1.pt.trace.json");
	snprintf(stage, sizeof(stage), "%031d), or its path", 9);
	ck_assert_msg(strstr(choice.line, stage) != NULL, "%s", choice.line);
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
	tcase_add_test(tc, the_first_stage_counts);
	tcase_add_test(tc, windows_and_ranks_are_of_one_stage);
	tcase_add_test(tc, a_stage_that_is_not_there_is_said);
	tcase_add_test(tc, what_is_of_no_stage_comes_first);
	tcase_add_test(tc, what_is_called_a_stage_need_not_be_one);
	tcase_add_test(tc, many_stages_are_no_harm);
	tcase_add_test(tc, a_file_that_is_named_is_taken_as_it_is);
	return unit_run(tc, "report_choice");
}
