/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the host's own time: Python between operators, its lock, its collector, and
 * threads. */
#include "tests/unit/advice_trace.h"

/* ---- between operators ---- */

/* So many us of a step of 10 ms are one gap, in an annotation as long as the step. */
static void with_gap(double us)
{
	begin_gpu(10000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		note("iteration", at(i, 0), 10000);
		op("aten::mm", at(i, 0), 5000);
		op("aten::add", at(i, 5000 + us), 5000 - us);
	}
}

/* A step of 10 ms in gaps of so many us between operators of 500. */
static void with_gaps(double us)
{
	begin_gpu(10000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned k = 0;

		for (; (k + 1) * (500 + us) < 10000; k++)
			op("aten::mm", at(i, k * (500 + us)), 500);
		op("aten::mm", at(i, k * (500 + us)), 10000 - k * (500 + us));
	}
}

/* ---- the interpreter's lock ---- */

/* Behind each of four kinds of operators the next comes so many us later. */
static void with_turns(double us)
{
	static const char *const names[] = { "aten::mm", "aten::add", "aten::relu",
					     "aten::sum" };

	begin_gpu(4 * (us + 1000), 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 4; k++)
			op(names[k], at(i, k * (us + 1000)), 1000);
}

/* So many kinds of operators have a gap of 5 ms behind them. */
static void with_kinds(double n)
{
	char name[16];

	begin_gpu(24000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 4; k++) {
			snprintf(name, sizeof(name), "op%u", k % (unsigned)n);
			op(name, at(i, k * 6000), 1000);
		}
}

/* One wait for the lock in a step of so many us. */
static void with_step(double us)
{
	begin_gpu(us, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "op%u", i);
		op(name, at(i, 0), 1000);
		op("aten::mm", at(i, 6000), us - 6000);
	}
}

/* Ten gaps of 5 ms a step beside two of 2 ms, so many of them in one operator. */
static void with_shorter(double covered)
{
	begin_gpu(100000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		char name[16];

		for (unsigned k = 0; k < 10; k++) {
			snprintf(name, sizeof(name), "op%u", k);
			op(name, at(i, k * 6000), 1000);
		}
		op("aten::mm", at(i, 60000), 10000);
		op("aten::mm", at(i, 72000), covered < 10 ? 10000 : 28000);
		op("aten::mm", at(i, 84000), 16000);
	}
}

/* ---- the collector ---- */

static void with_collector(double us)
{
	begin_gpu(10000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		op("aten::mm", at(i, 0), 5000);
		slice(1, "python_function", "<built-in function collect>", at(i, 5000),
		      us, "");
	}
}

/* ---- what is recorded of both ---- */

static void begin_events(double step_length, const char *waits)
{
	begin_gpu(step_length, 0);
	rewind(file);
	fprintf(file,
		"{\"proflaunch\":{\"python events\":{\"late_us\":1,\"collections\":9,"
		"\"waits for the lock\":%s}},\"traceEvents\":[",
		waits);
	steps_of(STEPS);
}

/* Half of so many us in an operator, and another thread waits beside the steps. */
static void with_waits(double us)
{
	begin_events(10000, "9");
	for (unsigned i = 0; i < STEPS; i++) {
		op("aten::mm", at(i, 0), 5000);
		slice(1, "python_gil", "GIL wait", at(i, 5000), us / 4, "");
		slice(1, "python_gil", "GIL wait", at(i, 5000 - us / 2), us, "");
		slice(2, "python_gil", "GIL wait", at(i, 0), 9000, "");
		slice(2, "cpu_op", "aten::mm", at(i, 9500), i ? 100 : 200, "");
	}
	for (unsigned i = 0; i < STEPS; i++)
		op("aten::add", at(i, 9900), 10);
}

static void with_collections(double us)
{
	begin_events(10000, "null");
	for (unsigned i = 0; i < STEPS; i++) {
		op("aten::mm", at(i, 0), 5000);
		slice(2, "python_function", "Python GC", at(i, 4900), us, "");
		slice(1, "python_function", "<built-in function collect>", at(i, 6000),
		      3000, "");
	}
}

/* A file of torch.profiler's, which has them among its functions. */
static void with_torchs_collections(double us)
{
	begin_gpu(10000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		op("aten::mm", at(i, 0), 5000);
		slice(1, "python_function", "Python GC", at(i, 5000), us, "");
	}
}

/* ---- threads ---- */

/* Begins a file that says how many CPUs there are, and torch's threads. */
static void begin_cpus(double step_length, int cpus, int threads, int world)
{
	begin_gpu(step_length, 0);
	rewind(file);
	fprintf(file,
		"{\"distributedInfo\":{\"rank\":0,\"world_size\":%d},\"proflaunch\":"
		"{\"facts\":{\"cpu\":{\"cpus\":%d,\"torch threads\":%d}}},"
		"\"traceEvents\":[",
		world, cpus, threads);
	steps_of(STEPS);
}

/* Products of `us` on so many callers at once, and other operators. */
static void fill_products(unsigned callers, double us, double others)
{
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 1; k <= callers; k++) {
			slice(k, "cpu_op", "aten::mm", at(i, 0), us, "");
			slice(k, "cpu_op", "aten::add", at(i, us), others, "");
		}
}

static void with_callers(double callers)
{
	begin_cpus(1000, 8, 4, 1);
	fill_products((unsigned)callers, 500, 400);
}

static void with_threads(double threads)
{
	begin_cpus(1000, 8, (int)threads, 1);
	fill_products(1, 500, 400);
}

static void with_few_threads(double fewer)
{
	begin_cpus(1000, 8, 8 - (int)fewer, 1);
	fill_products(1, 500, 400);
}

static void with_product_time(double us)
{
	begin_cpus(2000, 8, 1, 1);
	fill_products(1, us, 400);
}

static void with_product_share(double us)
{
	begin_cpus(2000, 8, 1, 1);
	fill_products(1, us, 1000 - us);
}

static const struct turn turns[] = {
	{ "plain-python", with_gap, 999, 1000 },
	{ "plain-python", with_gaps, 99, 101 },
	{ "gil-wait", with_turns, 4899, 4900 },
	{ "gil-wait", with_turns, 20000, 19999 },
	{ "gil-wait", with_shorter, 9, 10 },
	{ "gil-wait", with_kinds, 2, 3 },
	{ "gil-wait", with_step, 50100, 49900 },
	{ "gc-pause", with_collector, 499, 500 },
	{ "gil-wait", with_waits, 999, 1000 },
	{ "gc-pause", with_collections, 499, 500 },
	{ "gc-pause", with_torchs_collections, 499, 500 },
	{ "cpu-threads", with_callers, 3, 4 },
	{ "cpu-threads", with_threads, 15, 16 },
	{ "cpu-threads", with_few_threads, 2, 3 },
	{ "cpu-threads", with_product_time, 199, 200 },
	{ "cpu-threads", with_product_share, 299, 300 },
};

START_TEST(rule_turns_at_its_threshold)
{
	check_turn(&turns[_i]);
}
END_TEST

START_TEST(rank_shares_its_machine_with_others)
{
	begin_cpus(1000, 8, 1, 4);
	fill_products(1, 500, 400);
	advise();
	ck_assert(!told("cpu-threads"));
	advised_end();
}
END_TEST

START_TEST(gain_of_threads_is_what_others_take_over)
{
	begin_cpus(1000, 4, 1, 1);
	fill_products(1, 400, 400);
	advise();
	ck_assert_int_eq(told("cpu-threads")->gain, 300000);
	ck_assert_str_eq(told("cpu-threads")->title, "Operators use 1 of 4 CPUs");
	advised_end();
}
END_TEST

START_TEST(without_evidence_the_rules_are_silent)
{
	with_gap(5);
	advise();
	ck_assert(is_silent("gc-pause") && is_silent("cpu-threads"));
	ck_assert(!is_silent("gil-wait") && !is_silent("plain-python"));
	advised_end();
	begin_gpu(1000, 0);
	op("aten::mm", at(0, 0), 900);
	advise();
	ck_assert(is_silent("gil-wait") && is_silent("plain-python"));
	advised_end();
}
END_TEST

/* Annotations alone: the operators were not recorded. */
START_TEST(file_without_operators_has_no_gaps)
{
	begin_gpu(10000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		note("forward", at(i, 0), 9000);
	advise();
	ck_assert(!told("plain-python"));
	advised_end();
}
END_TEST

/* Functions that take so many us of a gap of 5 ms; half of it is enough to be named. */
static void with_function(double us)
{
	with_gap(5000);
	for (unsigned i = 0; i < STEPS; i++) {
		slice(1, "python_function", "nn.Module: M_0", at(i, 4000), 5900, "");
		slice(1, "python_function", "/usr/lib/x-packages/torch/m.py(3): call",
		      at(i, 4100), 5800, "");
		slice(1, "python_function", "train.py(6): find", at(i, 4200), 5700, "");
		slice(1, "python_function", "numpy.argwhere", at(i, 5000), us + 100, "");
		slice(1, "python_function", "numpy.ndarray.nonzero", at(i, 5050), us, "");
		slice(2, "python_function", "threading.py(1): wait", at(i, 0), 9990, "");
	}
}

START_TEST(the_function_that_fills_a_gap_is_named)
{
	const struct advice *a;

	with_function(4600);
	advise();
	a = told("plain-python");
	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(strstr(a->seen, "92 % of it in numpy.ndarray.nonzero"));
	ck_assert_str_eq(a->where, "train.py(6): find");
	advised_end();
	with_function(2400);
	advise();
	a = told("plain-python");
	ck_assert_ptr_nonnull(strstr(a->seen, "most behind "));
	ck_assert_ptr_nonnull(strstr(a->act, "--view python"));
	advised_end();
	with_gap(5000);
	advise();
	ck_assert_ptr_nonnull(strstr(told("plain-python")->act, "--c-calls"));
	advised_end();
}
END_TEST

/* The lock explains the gaps, and so they are told once. */
START_TEST(gaps_that_have_a_cause_are_told_once)
{
	with_turns(5200);
	advise();
	ck_assert_int_eq(told("gil-wait")->gain, 4 * 5200000);
	ck_assert(!told("plain-python"));
	advised_end();
}
END_TEST

/* Gaps of 5 ms are not waits for the lock where those are recorded, and none was. */
START_TEST(what_is_recorded_is_not_guessed)
{
	begin_events(24800, "0");
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 4; k++) {
			char name[16];

			snprintf(name, sizeof(name), "op%u", k);
			op(name, at(i, k * 6200), 1000);
		}
	advise();
	ck_assert(!told("gil-wait") && !is_silent("gil-wait") && told("plain-python"));
	ck_assert(!told("gc-pause") && !is_silent("gc-pause"));
	advised_end();
	with_waits(2000);
	advise();
	ck_assert_int_eq(told("gil-wait")->gain, 2000000);
	ck_assert_str_eq(told("gil-wait")->title, "Another thread holds Python's lock");
	advised_end();
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("advice");

	tcase_add_loop_test(t, rule_turns_at_its_threshold, 0,
			    (int)(sizeof(turns) / sizeof(*turns)));
	tcase_add_test(t, the_function_that_fills_a_gap_is_named);
	tcase_add_test(t, rank_shares_its_machine_with_others);
	tcase_add_test(t, gain_of_threads_is_what_others_take_over);
	tcase_add_test(t, without_evidence_the_rules_are_silent);
	tcase_add_test(t, file_without_operators_has_no_gaps);
	tcase_add_test(t, gaps_that_have_a_cause_are_told_once);
	tcase_add_test(t, what_is_recorded_is_not_guessed);
	return unit_run(t, "report_advice_host");
}
