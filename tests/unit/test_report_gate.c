/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs beside each other: rows, verdicts, and how often a verdict is wrong. */
#include "report/compare/gate.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static struct profile a, b;
static struct compare c;
static struct gate g;
static uint64_t seed;

/* ---- runs ---- */

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

/* A step's length in us: mostly within 2 % of the middle, now and then much longer. */
static double draw_step(double middle)
{
	double noise = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());

	return middle * (1 + 0.02 * noise) + (uniform() < 0.03 ? middle : 0);
}

/* Adds a window of n steps to a profile. In each step aten::mm takes `op` of its length
 * on the host, and kernel k a fifth of it on a GPU. */
static void add_window(struct profile *p, const double *step, size_t n, double op,
		       const char *extra)
{
	char path[] = "/tmp/report_gate_XXXXXX", why[1024];
	FILE *file = fdopen(mkstemp(path), "w");
	double at = 1000;

	fprintf(file,
		"{\"proflaunch\":{\"facts\":{\"script\":\"a.py\"}},\"traceEvents\":[");
	for (size_t i = 0; i < n; at += step[i++])
		fprintf(file,
			"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
			"\"ProfilerStep#%zu\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f},"
			"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,"
			"\"tid\":1,\"ts\":%.3f,\"dur\":%.3f},"
			"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\","
			"\"pid\":1,\"tid\":1,\"ts\":%.3f,\"args\":{\"Device Type\":0,"
			"\"Device Id\":-1,\"Addr\":1,\"Bytes\":8,\"Total Allocated\":%.0f}},",
			i, at, step[i], at + 1, step[i] * op, at + 2, 1000 * op);
	fprintf(file, "%s{\"ph\":\"M\",\"name\":\"x\"}]}", extra);
	fclose(file);
	ck_assert_msg(profile_add(p, path, why, sizeof(why)), "%s", why);
	unlink(path);
}

static void add_drawn(struct profile *p, size_t n, double middle)
{
	double step[100];

	for (size_t i = 0; i < n; i++)
		step[i] = draw_step(middle);
	add_window(p, step, n, 0.5, "");
}

static void begin(void)
{
	seed = 42;
	profile_start(&a);
	profile_start(&b);
}

static void end(void)
{
	compare_free(&c);
	profile_free(&a);
	profile_free(&b);
}

static enum gate_verdict judged(const char *metric, double limit, bool strict)
{
	ck_assert(gate_judge(&g, &a, &b, metric, limit, strict));
	return g.verdict;
}

static const struct compare_row *row_of(enum profile_kind kind, const char *name)
{
	for (size_t i = 0; i < c.n; i++)
		if (c.row[i].kind == kind && !strcmp(c.row[i].name, name))
			return &c.row[i];
	return NULL;
}

static const double eight[] = { 100, 101, 102, 103, 104, 105, 106, 107 };
static const double slower[] = { 120, 121, 122, 123, 124, 125, 126, 127 };

/* ---- rows ---- */

/* What lies before the first step is in none of them. */
START_TEST(each_step_is_a_value_of_each_row)
{
	add_window(&a, eight, 8, 0.5,
		   "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":500,"
		   "\"args\":{\"Device Type\":0,\"Bytes\":8,\"Total Allocated\":9000}},"
		   "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":600,"
		   "\"args\":{\"Device Type\":0,\"Bytes\":-8,\"Total Allocated\":10}},");
	ck_assert_uint_eq(a.steps_n, 8);
	ck_assert_uint_eq(a.windows_n, 1);
	ck_assert(!a.unmarked);
	ck_assert_str_eq(a.script, "a.py");
	for (size_t i = 0; i < 8; i++) {
		ck_assert_double_eq(
			profile_value(profile_find(&a, PROFILE_STEP, "step"), i),
			eight[i] * 1000);
		ck_assert_double_eq(
			profile_value(profile_find(&a, PROFILE_HOST, "aten::mm"), i),
			eight[i] * 500);
		ck_assert_double_eq(
			profile_value(profile_find(&a, PROFILE_PEAK, "cpu"), i), 500);
	}
	ck_assert_double_eq(profile_value(profile_find(&a, PROFILE_HOST, "aten::mm"), 8),
			    0);
	ck_assert_ptr_null(profile_find(&a, PROFILE_GPU, "aten::mm"));
}
END_TEST

START_TEST(rows_pair_by_name)
{
	add_window(&a, eight, 8, 0.5, "");
	add_window(&b, slower, 8, 0.5,
		   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::new\",\"pid\":1,"
		   "\"tid\":2,\"ts\":1010,\"dur\":40},");
	ck_assert(compare_make(&c, &a, &b));
	ck_assert_double_eq_tol(c.step.shift.by, 20000, 1e-6);
	ck_assert(c.step.sure);
	ck_assert_double_eq_tol(row_of(PROFILE_HOST, "aten::mm")->shift.by, 10000, 1e-6);
	ck_assert(row_of(PROFILE_HOST, "aten::mm")->sure);
	ck_assert(row_of(PROFILE_PEAK, "cpu")->in_a);
	ck_assert(!row_of(PROFILE_PEAK, "cpu")->sure);
	/* Once in eight steps: its median is 0, which is no part of a step. */
	ck_assert_ptr_null(row_of(PROFILE_HOST, "aten::new"));
	ck_assert_uint_eq(c.small[PROFILE_HOST], 1);
}
END_TEST

/* Names of any number are no rows without end. */
START_TEST(a_name_for_each_event_is_bounded)
{
	size_t len = 0;
	char *all = NULL;
	FILE *file = open_memstream(&all, &len);

	for (int i = 0; i < 21000; i++)
		fprintf(file,
			"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n%d\",\"pid\":1,"
			"\"tid\":2,\"ts\":%.3f,\"dur\":0.001},",
			i, 1000 + 0.002 * i);
	fclose(file);
	add_window(&a, eight, 8, 0.5, all);
	free(all);
	ck_assert_uint_lt(a.rows_n, 20010);
	ck_assert_ptr_nonnull(profile_find(&a, PROFILE_HOST, "(other names)"));
}
END_TEST

/* ---- verdicts ---- */

START_TEST(what_is_sure_to_be_slower_is_a_regression)
{
	add_window(&a, eight, 8, 0.5, "");
	add_window(&b, slower, 8, 0.5, "");
	ck_assert_int_eq(judged("step", 0.03, false), GATE_REGRESSION);
	ck_assert_double_eq_tol(g.by, 20 / 103.5, 1e-9);
	ck_assert(g.low > 0.1 && g.high < 0.3 && g.low < g.by && g.high > g.by);
	ck_assert_int_eq(judged("step", 0.5, false), GATE_FINE);
	ck_assert_int_eq(judged("ops/aten::mm", 0.03, false), GATE_REGRESSION);
	ck_assert_msg(judged("peak-memory", 0.03, true) == GATE_FINE, "%s", g.why);
}
END_TEST

START_TEST(what_is_faster_is_fine)
{
	add_window(&a, slower, 8, 0.5, "");
	add_window(&b, eight, 8, 0.5, "");
	ck_assert_int_eq(judged("step", 0.03, true), GATE_FINE);
	ck_assert(g.high < 0);
}
END_TEST

START_TEST(what_cannot_be_told_is_said)
{
	static const double wide[] = { 50, 70, 90, 110, 130, 150, 170, 190 };

	add_window(&a, wide, 8, 0.5, "");
	add_window(&b, wide, 8, 0.5, "");
	ck_assert_int_eq(judged("step", 0.03, false), GATE_UNSURE);
	ck_assert_uint_gt(g.steps, 100);
	ck_assert_ptr_nonnull(strstr(g.why, "vary too much"));
	profile_free(&b);
	add_window(&b, wide, 1, 0.5, "");
	ck_assert_int_eq(judged("step", 0.03, false), GATE_UNSURE);
	ck_assert_uint_eq(g.steps, 4);
	ck_assert_ptr_nonnull(strstr(g.why, "too few"));
	ck_assert_int_eq(judged("gpu", 0.03, false), GATE_UNSURE);
	ck_assert_str_eq(g.why, "neither side has anything of this metric");
	ck_assert_int_eq(judged("ops/none", 0.03, false), GATE_UNSURE);
}
END_TEST

/* An interval that holds the limit and is narrow: fine, unless it must be sure. */
START_TEST(strict_wants_to_be_sure)
{
	double near[8];

	for (int i = 0; i < 8; i++)
		near[i] = eight[i] * 1.03;
	add_window(&a, eight, 8, 0.5, "");
	add_window(&b, near, 8, 0.5, "");
	ck_assert_int_eq(judged("step", 0.03, false), GATE_FINE);
	ck_assert(g.low < 0.03 && g.high > 0.03);
	ck_assert_int_eq(judged("step", 0.03, true), GATE_REGRESSION);
}
END_TEST

START_TEST(metrics_have_names)
{
	ck_assert(gate_is_metric("step") && gate_is_metric("gpu"));
	ck_assert(gate_is_metric("peak-memory") && gate_is_metric("ops/aten::mm"));
	ck_assert(!gate_is_metric("ops/") && !gate_is_metric("steps") &&
		  !gate_is_metric(""));
}
END_TEST

/* Windows that differ more than their steps do: the interval knows. */
START_TEST(windows_are_samples_too)
{
	double narrow;

	for (int i = 0; i < 6; i++) {
		add_drawn(&a, 20, 1000 + 40 * (i % 3));
		add_drawn(&b, 20, 1000 + 40 * (i % 3));
	}
	ck_assert_uint_eq(a.windows_n, 6);
	judged("step", 0.03, false);
	narrow = g.high - g.low;
	for (size_t i = 0; i < a.steps_n; i++)
		a.window[i] = b.window[i] = 0;
	a.windows_n = b.windows_n = 1;
	judged("step", 0.03, false);
	ck_assert_msg(narrow > 1.5 * (g.high - g.low), "%f %f", narrow, g.high - g.low);
}
END_TEST

/* ---- how often it is wrong ---- */

static void draw(size_t n, double times, unsigned counts[3])
{
	memset(counts, 0, 3 * sizeof(*counts));
	for (int i = 0; i < 300; i++) {
		add_drawn(&a, n, 1000);
		add_drawn(&b, n, 1000 * times);
		counts[judged("step", 0.03, false)]++;
		profile_free(&a);
		profile_free(&b);
	}
}

START_TEST(equal_programs_are_rarely_a_regression)
{
	unsigned counts[3];

	draw(20, 1, counts);
	ck_assert_uint_le(counts[GATE_REGRESSION], 6);
	ck_assert_uint_le(counts[GATE_UNSURE], 6);
	draw(20, 1.03, counts);
	ck_assert_uint_le(counts[GATE_REGRESSION], 15);
}
END_TEST

/* A limit of 3 %: 6 % more is seen from 20 steps on, 5 % from 40. */
START_TEST(slower_programs_are_nearly_always_one)
{
	unsigned counts[3];

	draw(20, 1.06, counts);
	ck_assert_uint_ge(counts[GATE_REGRESSION], 270);
	draw(40, 1.05, counts);
	ck_assert_uint_ge(counts[GATE_REGRESSION], 270);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("gate");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, each_step_is_a_value_of_each_row);
	tcase_add_test(tc, rows_pair_by_name);
	tcase_add_test(tc, a_name_for_each_event_is_bounded);
	tcase_add_test(tc, what_is_sure_to_be_slower_is_a_regression);
	tcase_add_test(tc, what_is_faster_is_fine);
	tcase_add_test(tc, what_cannot_be_told_is_said);
	tcase_add_test(tc, strict_wants_to_be_sure);
	tcase_add_test(tc, metrics_have_names);
	tcase_add_test(tc, windows_are_samples_too);
	tcase_add_test(tc, equal_programs_are_rarely_a_regression);
	tcase_add_test(tc, slower_programs_are_nearly_always_one);
	return unit_run(tc, "report gate");
}
