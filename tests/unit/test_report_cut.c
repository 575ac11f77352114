/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and threads that are cut out of a trace: what stays of it. */
#include "tests/unit/chrome_trace.h"

static void steps_from(int64_t first, int64_t last)
{
	cut = (struct cut_options){ first, last, NULL, 0 };
}

static void threads_of(const char **names, size_t n)
{
	cut = (struct cut_options){ INT64_MIN, INT64_MAX, names, n };
}

static bool stays(const char *name)
{
	char quoted[128];

	snprintf(quoted, sizeof(quoted), "\"name\":\"%s\"", name);
	return has_part(quoted);
}

static void event(const char *ph, const char *name, unsigned tid, double ts,
		  const char *more)
{
	fprintf(file,
		"{\"ph\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%u,\"ts\":%.3f%s},\n",
		ph, name, tid, ts, more);
}

static void kernel(const char *name, double ts, double dur, unsigned number)
{
	fprintf(file,
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
		"\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"correlation\":%u}},\n",
		name, ts, dur, number);
}

static void launch(const char *name, double ts, double dur, unsigned number)
{
	char args[64];

	snprintf(args, sizeof(args), "\"correlation\":%u", number);
	slice(1, "cuda_runtime", name, ts, dur, args);
}

static void three_steps(void)
{
	step(3, 100, 100);
	step(4, 200, 100);
	step(5, 300, 100);
}

START_TEST(only_what_is_in_the_steps_stays)
{
	three_steps();
	op("before", 110, 10);
	op("around", 190, 20);
	op("inside", 210, 10);
	op("behind", 310, 10);
	slice(2, "cpu_op", "late", 290, 30, "");
	slice(2, "cpu_op", "inside of late", 305, 5, "");
	slice(2, "cpu_op", "behind late", 330, 5, "");
	event("i", "[memory]", 1, 150, "");
	event("i", "in time", 1, 250, "");
	event("i", "Record Window End", 1, 900, "");
	event("C", "counter", 0, 250, ",\"args\":{\"a\":1}");
	event("C", "late counter", 0, 350, ",\"args\":{\"a\":1}");
	steps_from(4, 4);
	ck_assert_msg(cut_out() != NULL, "%s", why);
	ck_assert(stays("around") && stays("inside") && stays("late"));
	ck_assert(stays("inside of late") && stays("in time") && stays("counter"));
	ck_assert(stays("ProfilerStep#4") && stays("Record Window End"));
	ck_assert(!stays("before") && !stays("behind") && !stays("behind late"));
	ck_assert(!stays("ProfilerStep#3") && !stays("ProfilerStep#5"));
	ck_assert(!stays("[memory]") && !stays("late counter"));
}
END_TEST

START_TEST(work_on_a_device_goes_with_its_call)
{
	three_steps();
	launch("first", 110, 5, 1);
	launch("second", 210, 5, 2);
	launch("third", 390, 5, 3);
	kernel("of the first", 120, 10, 1);
	kernel("of the second", 350, 10, 2);
	kernel("of the third", 400, 10, 3);
	steps_from(4, 4);
	ck_assert_msg(cut_out() != NULL, "%s", why);
	ck_assert(stays("second") && stays("of the second"));
	ck_assert(!stays("of the first") && !stays("of the third"));
	ck_assert(!stays("first") && !stays("third"));
}
END_TEST

START_TEST(arrows_stay_with_both_ends)
{
	three_steps();
	op("a", 210, 10);
	op("b", 250, 10);
	event("s", "in", 1, 210, ",\"cat\":\"fwdbwd\",\"id\":1");
	event("f", "in", 1, 250, ",\"cat\":\"fwdbwd\",\"id\":1");
	event("s", "from before", 1, 150, ",\"cat\":\"fwdbwd\",\"id\":2");
	event("f", "from before", 1, 250, ",\"cat\":\"fwdbwd\",\"id\":2");
	event("s", "other kind", 1, 210, ",\"cat\":\"ac2g\",\"id\":2");
	event("s", "to behind", 1, 210, ",\"id\":\"x\",\"cat\":\"q\"");
	event("f", "to behind", 1, 390, ",\"id\":\"x\",\"cat\":\"q\"");
	steps_from(4, 4);
	ck_assert_msg(cut_out() != NULL, "%s", why);
	ck_assert(stays("in") && !stays("from before") && !stays("other kind") &&
		  !stays("to behind"));
}
END_TEST

START_TEST(threads_are_named_in_three_ways)
{
	static const char *names[] = { "8", "main", "a b" };

	for (unsigned tid = 7; tid < 11; tid++) {
		char name[16];

		snprintf(name, sizeof(name), "op %u", tid);
		slice(tid, "cpu_op", name, tid, 1, "");
	}
	fputs("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":9,"
	      "\"args\":{\"name\":\"thread 9 (main)\"}},"
	      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":10,"
	      "\"args\":{\"name\":\"a b\"}},"
	      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":7,"
	      "\"args\":{\"name\":\"odd\"}},"
	      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,"
	      "\"args\":{\"name\":\"p\"}},",
	      file);
	threads_of(names, 3);
	ck_assert_msg(cut_out() != NULL, "%s", why);
	ck_assert(stays("op 8") && stays("op 9") && stays("op 10") && !stays("op 7"));
	ck_assert(stays("a b") && stays("p") && !stays("odd"));
	names[0] = "nobody";
	ck_assert_ptr_null(cut_out());
	ck_assert_ptr_nonnull(strstr(why, "has no thread nobody: it has 7 (odd), 8, 9"));
}
END_TEST

START_TEST(work_goes_with_its_thread)
{
	static const char *names[] = { "1" };

	launch("mine", 10, 5, 1);
	slice(2, "cuda_runtime", "theirs", 10, 5, "\"correlation\":2");
	kernel("of mine", 20, 5, 1);
	kernel("of theirs", 30, 5, 2);
	threads_of(names, 1);
	ck_assert_msg(cut_out() != NULL, "%s", why);
	ck_assert(stays("of mine") && !stays("of theirs") && !stays("theirs"));
}
END_TEST

/* ---- the steps of the cut ---- */

/* The steps' begins and ends, and what is before them. */
static const char *bounds_of(const char *trace, int64_t first, int64_t last)
{
	static char line[256];
	char path[] = "/tmp/report_chrome.XXXXXX";
	struct steps steps;
	size_t n;

	write_file(path, trace, strlen(trace));
	ck_assert_msg(!model_read(&model, path, ~0u, why, sizeof(why)), "%s", why);
	unlink(path);
	ck_assert(steps_make(&steps, &model));
	n = (size_t)snprintf(line, sizeof(line), "%d", steps.gpu);
	for (size_t i = 0; i < steps.n; i++)
		if (steps.row[i].number >= first && steps.row[i].number <= last)
			n += (size_t)snprintf(
				line + n, sizeof(line) - n, " %lld:%lld-%lld kernel %lld",
				(long long)steps.row[i].number,
				(long long)steps.row[i].begin,
				(long long)steps.row[i].end,
				(long long)steps.row[i].share[SHARE_KERNEL]);
	steps_free(&steps);
	model_free(&model);
	return line;
}

/* Work of step 3 runs until step 4 is half over; step 5 has too little work to be whole
 * if it were the last, and a kernel of step 6 runs beside it. */
START_TEST(steps_are_those_of_the_whole_file)
{
	char *want;

	three_steps();
	step(6, 400, 100);
	for (unsigned i = 0; i < 10; i++) {
		launch("call", 101 + i, 1, 1 + i);
		launch("call", 201 + i, 1, 11 + i);
		launch("call", 401 + i, 1, 31 + i);
		kernel("k3", 200 + 5 * i, 4, 1 + i);
		kernel("k4", 245 + 5 * i, 4, 11 + i);
		kernel("k6", 420 + 5 * i, 4, 31 + i);
	}
	launch("call", 301, 1, 21);
	kernel("k5", 395, 30, 21);
	steps_from(4, 5);
	ck_assert_msg(cut_out() != NULL, "%s", why);
	want = strdup(bounds_of(text, 4, 5));
	ck_assert_str_eq(bounds_of(said, 0, 9), want);
	ck_assert_ptr_nonnull(strstr(want, "4:249000-300000"));
	ck_assert_ptr_nonnull(strstr(want, "5:300000-425000"));
	free(want);
}
END_TEST

START_TEST(a_cut_can_be_cut_again)
{
	char *once;

	three_steps();
	op("x", 310, 10);
	steps_from(4, 5);
	ck_assert_msg(cut_out() != NULL, "%s", why);
	once = strdup(said);
	steps_from(5, 5);
	ck_assert_msg(written(once) != NULL, "%s", why);
	ck_assert(has_part("{\n\"proflaunch cut\": {\"before\": 2, \"steps\": [[5, "));
	ck_assert(!strstr(strstr(said, "cut") + 3, "proflaunch cut") && stays("x"));
	ck_assert(!stays("ProfilerStep#4"));
	free(once);
}
END_TEST

START_TEST(steps_that_are_not_there_are_told)
{
	three_steps();
	steps_from(7, 9);
	ck_assert_ptr_null(cut_out());
	ck_assert_ptr_nonnull(
		strstr(why, "none of these steps whole: its steps are 3 to 5"));
	ck_assert_ptr_null(written("[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\","
				   "\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5}]"));
	ck_assert_ptr_nonnull(strstr(why, "its steps are not marked"));
}
END_TEST

/* What a hand has changed is no list of steps. */
START_TEST(odd_bounds_are_not_taken)
{
	static const char *const odd[] = {
		"5",
		"{}",
		"{\"steps\":[]}",
		"{\"steps\":[[1,2]]}",
		"{\"steps\":[[4,9,2]]}",
		"{\"steps\":[[4,-9,2]]}",
		"{\"steps\":[[4,1,2,3]]}",
		"{\"steps\":7}",
		"{\"steps\":[{\"number\":4}]}",
		"{\"steps\":[[\"4\",1,2]]}",
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		char trace[512];

		snprintf(trace, sizeof(trace),
			 "{\"proflaunch cut\":%s,\"traceEvents\":[{\"ph\":\"X\","
			 "\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#4\","
			 "\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5}]}",
			 odd[i]);
		ck_assert_str_eq(bounds_of(trace, 0, 9), "0 4:1000-6000 kernel 0");
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_cut");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, only_what_is_in_the_steps_stays);
	tcase_add_test(tc, work_on_a_device_goes_with_its_call);
	tcase_add_test(tc, arrows_stay_with_both_ends);
	tcase_add_test(tc, threads_are_named_in_three_ways);
	tcase_add_test(tc, work_goes_with_its_thread);
	tcase_add_test(tc, steps_are_those_of_the_whole_file);
	tcase_add_test(tc, a_cut_can_be_cut_again);
	tcase_add_test(tc, steps_that_are_not_there_are_told);
	tcase_add_test(tc, odd_bounds_are_not_taken);
	return unit_run(tc, "report_cut");
}
