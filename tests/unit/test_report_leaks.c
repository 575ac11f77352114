/* SPDX-License-Identifier: Apache-2.0 */
/* What `memory --leaks` says of a file, and what it cannot. How levels are judged is
 * test_trend's. */
#include "tests/unit/report_trace.h"

#define LIMIT 65536

/* ---- a file of n steps of 100 ms each ---- */

static void steps_of(int n)
{
	for (int i = 0; i < n; i++)
		step(i + 3, 100000.0 * i, 99999);
}

/* A tensor of so many bytes that is kept, in each step. */
static void tensors_of(int n, int64_t bytes)
{
	for (int i = 0; i < n; i++)
		memory_of(1, 0, -1, 100000.0 * i + 10, (unsigned)(64 + i), bytes, 1);
}

static void counter(const char *name, const char *key, int i, int64_t value)
{
	fprintf(file,
		"{\"ph\":\"C\",\"name\":\"%s\",\"pid\":1,\"ts\":%d,\"args\":{\"%s\":%lld}},\n",
		name, 100000 * i + 50000, key, (long long)value);
}

static int grows_from; /* the step */

/* What stands before the events: the heap of one site, which holds so many bytes more at
 * each step's end. */
static void heap_of(const char *mode, const char *more, int n, int64_t bytes)
{
	bool sample = !strcmp(mode, "sample"), count = !strcmp(mode, "count");
	char *members = NULL;
	size_t len;
	FILE *own = open_memstream(&members, &len);

	fprintf(own, "%s\"heap\":{\"mode\":\"%s\",\"since\":\"window\",%s\"steps\":[",
		more, mode, sample ? "\"weighted\":true,\"sample_bytes\":524288," : "");
	for (int i = 0; i < n; i++)
		fprintf(own, "%s%d", i ? "," : "", i + 3);
	fputs("],\"total\":{\"allocs\":9},\"sites\":[{\"stack\":null,\"op\":null,"
	      "\"allocs\":9,\"bytes\":900,\"call\":\"malloc\",\"steps\":[",
	      own);
	for (int i = 0; i < n; i++)
		fprintf(own, "%s%lld", i ? "," : "",
			i < grows_from ? 0 : (long long)((i - grows_from + 1) * bytes));
	fputs("]}],\"other\":{}}", own);
	fclose(own);
	/* A file that was counted has no sites. */
	if (count)
		strcpy(strstr(members, "{\"stack\""), "],\"other\":{\"allocs\":1}}");
	ours(members);
	free(members);
}

/* ---- each space ---- */

START_TEST(steady_growth_is_a_leak)
{
	heap_of("all", "", 20, 2 * LIMIT);
	steps_of(20);
	look();
	ck_assert_int_eq(judged(0, LIMIT), 1);
	says(said,
	     "leak in the heap: 128.0 KiB a step over 20 steps, 2.5 MiB held at the end of "
	     "step 22");
	says(said, "live at the ends of steps 3: 128.0 KiB, 6: 512.0 KiB,");
	says(said, "x: 1 leak: steady growth of more than 64.0 KiB a step");
	ck_assert_int_eq(judged(0, 2 * LIMIT), 0);
	says(said, "x: no steady growth in 20 steps (limit 128.0 KiB a step)");
}
END_TEST

/* Two are no reason to say anything; ten must all agree. */
START_TEST(few_steps_say_little)
{
	heap_of("all", "", 10, 2 * LIMIT);
	steps_of(10);
	look();
	ck_assert_int_eq(judged(0, LIMIT), 1);
	ck_assert_int_eq(judged(5, LIMIT), 2);
	says(said,
	     "x: cannot say whether the heap leaks: it has too few steps (5; 20 tell, fewer "
	     "than 6 may not)");
	ck_assert_int_eq(judged(6, LIMIT), 1);
	ck_assert_int_eq(judged(6, 2 * LIMIT), 0);
}
END_TEST

/* A program that allocates nothing does not leak. */
START_TEST(nothing_allocated_is_no_growth)
{
	ours("\"heap\":{\"mode\":\"all\",\"since\":\"window\",\"steps\":[3,4,5,6,7,8],"
	     "\"total\":{\"allocs\":0},\"sites\":[],\"other\":{}}");
	steps_of(6);
	look();
	ck_assert_int_eq(judged(0, LIMIT), 0);
}
END_TEST

/* Tensors of many steps, the heap of one: of its growth nothing is known. */
START_TEST(what_cannot_be_judged_is_no_no_leak)
{
	heap_of("all", "", 1, 7);
	steps_of(20);
	tensors_of(20, 100);
	look();
	ck_assert_int_eq(judged(0, LIMIT), 2);
	says(said, "cannot say whether the heap leaks: it has too few steps");
	ck_assert_ptr_null(strstr(said, "no steady growth"));
	ck_assert_int_eq(judged(0, 99), 1);
	says(said, "leak in cpu");
	says(said, "cannot say whether the heap leaks");
}
END_TEST

START_TEST(a_sample_asks_for_more_steps)
{
	heap_of("sample", "", 20, 90000);
	steps_of(20);
	look();
	ck_assert_int_eq(judged(0, LIMIT), 2);
	says(said, "x: cannot say whether the heap leaks: ");
	says(said, " steps more, or --malloc all would tell\n  +1.6 MiB in 20 steps: ");
}
END_TEST

/* Three of them are named. */
START_TEST(of_many_that_are_unsure_the_others_are_counted)
{
	char members[8192];
	size_t n = (size_t)sprintf(
		members, "\"heap\":{\"mode\":\"sample\",\"since\":\"window\","
			 "\"weighted\":true,\"sample_bytes\":524288,\"steps\":[");

	for (int i = 0; i < 20; i++)
		n += (size_t)sprintf(members + n, "%s%d", i ? "," : "", i + 3);
	n += (size_t)sprintf(members + n, "],\"total\":{\"allocs\":9},\"sites\":[");
	for (int k = 0; k < 5; k++) {
		n += (size_t)sprintf(members + n,
				     "%s{\"stack\":null,\"op\":\"op%d\",\"allocs\":9,"
				     "\"bytes\":900,\"call\":\"malloc\",\"steps\":[",
				     k ? "," : "", k);
		for (int i = 0; i < 20; i++)
			n += (size_t)sprintf(members + n, "%s%d", i ? "," : "",
					     i < 19 ? 0 : 600000);
		n += (size_t)sprintf(members + n, "]}");
	}
	sprintf(members + n, "],\"other\":{}}");
	ours(members);
	steps_of(20);
	look();
	ck_assert_int_eq(judged(0, LIMIT), 2);
	says(said, "\n  ... and 2 more\n");
}
END_TEST

/* 40 MB +- 4.5. */
START_TEST(a_sample_says_how_far_it_is_right)
{
	heap_of("sample", "", 20, 2000000);
	steps_of(20);
	look();
	ck_assert_int_eq(judged(0, LIMIT), 1);
	says(said, "sampled: the growth is right within +- 12 % in two of three cases");
}
END_TEST

START_TEST(counts_are_judged_without_call_sites)
{
	heap_of("count", "", 20, 0);
	steps_of(20);
	for (int i = 0; i < 20; i++)
		counter("Heap", "live bytes", i, 2 * LIMIT * (i + 1));
	look();
	ck_assert_int_eq(judged(0, LIMIT), 1);
	says(said, "leak in the heap: 128.0 KiB a step over 20 steps");
	says(said, "(the whole heap: --malloc all or sample tells the call sites)");
	ck_assert_int_eq(judged(0, 2 * LIMIT), 0);
}
END_TEST

START_TEST(a_cache_is_said_to_be_one)
{
	heap_of("count", "", 40, 0);
	steps_of(40);
	for (int i = 0; i < 40; i++)
		counter("Heap", "live bytes", i, 4 * LIMIT * (i < 16 ? i : 16));
	look();
	ck_assert_int_eq(judged(0, LIMIT), 0);
	says(said, "levelled off at step 19 in the heap, 4.0 MiB more than at step 3: ");
	ck_assert_int_eq(judged(36, LIMIT), 0);
	says(said, "levelled off at step 19 in the heap, 3.0 MiB more than at step 7: ");
}
END_TEST

/* ---- resident memory ---- */

static const char *more = ""; /* members of "proflaunch" */

static void resident(int n, int64_t first, int64_t each, const char *key)
{
	heap_of("all", more, n, 10);
	steps_of(n);
	for (int i = 0; i < n; i++)
		counter("RSS", key, i, first + i * each);
	look();
}

START_TEST(what_the_heap_does_not_have_is_seen)
{
	resident(20, 100 << 20, 8 << 20, "anonymous");
	ck_assert_int_eq(judged(0, LIMIT), 1);
	says(said,
	     "resident memory grew 8.0 MiB a step over 20 steps, the heap 10 B: the rest is "
	     "mapped memory or Python's own pools of small objects (--with-stack "
	     "records them)");
}
END_TEST

/* What was asked for is not advised again; and what is missing is said. */
START_TEST(small_objects_are_recorded_or_missing)
{
	static const char *const says_so[] = {
		"\"python objects\":{\"late_us\":3,\"exchanged\":false},",
		"\"python objects\":null,",
		"\"python objects\":{\"unseen\":true},",
		"\"python objects\":{\"late_us\":3,\"exchanged\":true,\"x\":[{}]},",
	};

	more = says_so[_i];
	resident(20, 100 << 20, 8 << 20, "anonymous");
	ck_assert_int_eq(judged(0, LIMIT), 1);
	says(said, _i < 2 ? "the rest is mapped memory\n"
			  : "the rest is mapped memory or Python's own pools of small "
			    "objects, which are not recorded here\n");
	ck_assert_int_eq(!!strstr(said, "INCOMPLETE: Python's small objects are not "
					"recorded here"),
			 _i >= 2);
}
END_TEST

/* One percent of what is there is no leak, nor are pages of files, nor 19 steps. */
START_TEST(resident_memory_has_limits_of_its_own)
{
	static const struct {
		int n;
		int64_t first, each;
		const char *key;
		int want;
	} rows[] = {
		{ 20, 100 << 20, 2 << 20, "anonymous", 1 },
		{ 20, 100 << 20, 1 << 20, "anonymous", 0 },
		{ 20, 100 << 20, 2 << 20, "bytes", 0 },
		{ 19, 100 << 20, 2 << 20, "anonymous", 0 },
	};

	resident(rows[_i].n, rows[_i].first, rows[_i].each, rows[_i].key);
	ck_assert_int_eq(judged(0, LIMIT), rows[_i].want);
}
END_TEST

/* The first counter may come late, and one that stays the same is noted once. */
START_TEST(steps_without_a_counter_have_the_last_one)
{
	heap_of("all", "", 40, 10);
	steps_of(40);
	for (int i = 2; i < 40; i++)
		if (i != 7 && i != 8)
			counter("RSS", "anonymous", i, (64 << 20) + i * 400000);
	look();
	ck_assert_int_eq(judged(0, LIMIT), 0);
	ck_assert_int_eq(judged(30, LIMIT), 0);
}
END_TEST

/* What the heap has is said once. */
START_TEST(the_heap_s_own_growth_is_no_second_leak)
{
	heap_of("all", "", 20, 4 << 20);
	steps_of(20);
	for (int i = 0; i < 20; i++)
		counter("RSS", "anonymous", i, (1 << 20) + i * (4 << 20));
	look();
	ck_assert_int_eq(judged(0, LIMIT), 1);
	says(said, "x: 1 leak:");
}
END_TEST

/* Growth that begins late is compared with the heap's over the same steps: a leak of the
 * heap is not mapped memory as well. */
START_TEST(what_begins_late_is_one_leak)
{
	grows_from = 80;
	heap_of("all", "", 100, 15 << 20);
	grows_from = 0;
	steps_of(100);
	for (int i = 0; i < 100; i++)
		counter("RSS", "anonymous", i,
			(500 << 20) + (i < 80 ? 0 : (i - 79) * (15ll << 20)));
	look();
	ck_assert_int_eq(judged(0, LIMIT), 1);
	ck_assert_ptr_null(strstr(said, "resident memory grew"));
}
END_TEST

/* ---- records that are missing ---- */

#define DROPS(kinds, reasons) "\"drops\":{" kinds "},\"drop reasons\":{" reasons "},"
#define LATE                  "\"after the window's end\":"
#define FULL                  "\"buffer full\":"

static const struct {
	const char *ours;
	int64_t each;
	int want;
} rows[] = {
	{ "", 1, 0 },
	{ "", 700, 1 },
	{ DROPS("\"heap_allocations\":9", FULL "9"), 1, 2 },
	{ DROPS("\"heap_frees\":1", FULL "1"), 1, 2 },
	{ DROPS("\"heap_frees\":1", FULL "1"), 700, 2 },
	{ DROPS("\"memory\":1", FULL "1"), 1, 2 },
	{ DROPS("\"memory\":1", FULL "1"), 700, 1 }, /* the heap's are all there */
	{ DROPS("\"steps\":1", FULL "1"), 700, 2 },
	{ DROPS("\"operators\":9,\"kernels\":9", FULL "18"), 1, 0 },
	/* What is of no window is missing in none. */
	{ DROPS("\"heap_frees\":9", LATE "9"), 1, 0 },
	{ DROPS("\"heap_frees\":9", LATE "8," FULL "1"), 1, 2 },
	{ DROPS("\"heap_frees\":9", ""), 1, 2 },
};

START_TEST(with_records_missing_it_cannot_be_said)
{
	heap_of("all", rows[_i].ours, 20, rows[_i].each);
	steps_of(20);
	tensors_of(20, 1);
	look();
	ck_assert_int_eq(judged(0, 100), rows[_i].want);
	if (rows[_i].want == 2)
		says(said, "larger --buffer-mb");
}
END_TEST

/* Beside a heap with gaps nobody knows what the rest is. */
START_TEST(of_a_heap_with_gaps_there_is_no_rest)
{
	heap_of("all", DROPS("\"heap_frees\":1", FULL "1"), 20, 10);
	steps_of(20);
	for (int i = 0; i < 20; i++)
		counter("RSS", "anonymous", i, (100 << 20) + i * (8 << 20));
	look();
	ck_assert_int_eq(judged(0, LIMIT), 2);
	ck_assert_ptr_null(strstr(said, "resident memory grew"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("leaks");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, steady_growth_is_a_leak);
	tcase_add_test(tc, few_steps_say_little);
	tcase_add_test(tc, nothing_allocated_is_no_growth);
	tcase_add_test(tc, what_cannot_be_judged_is_no_no_leak);
	tcase_add_test(tc, a_sample_asks_for_more_steps);
	tcase_add_test(tc, of_many_that_are_unsure_the_others_are_counted);
	tcase_add_test(tc, a_sample_says_how_far_it_is_right);
	tcase_add_test(tc, counts_are_judged_without_call_sites);
	tcase_add_test(tc, a_cache_is_said_to_be_one);
	tcase_add_test(tc, what_the_heap_does_not_have_is_seen);
	tcase_add_loop_test(tc, small_objects_are_recorded_or_missing, 0, 4);
	tcase_add_loop_test(tc, resident_memory_has_limits_of_its_own, 0, 4);
	tcase_add_test(tc, steps_without_a_counter_have_the_last_one);
	tcase_add_test(tc, the_heap_s_own_growth_is_no_second_leak);
	tcase_add_test(tc, what_begins_late_is_one_leak);
	tcase_add_test(tc, of_a_heap_with_gaps_there_is_no_rest);
	tcase_add_loop_test(tc, with_records_missing_it_cannot_be_said, 0,
			    sizeof(rows) / sizeof(*rows));
	return unit_run(tc, "report leaks");
}
