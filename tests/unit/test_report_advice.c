/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that need no GPU: a trace on each side of each threshold, and the steps that
 * count.
 */
#include "tests/unit/advice_trace.h"

#define LOADER   "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define MANY     600
#define LARGE    (2L << 20)
#define COMPILES "_compile.compile_inner (dynamo_timed)"

/* ---- a knob for each rule ---- */

static void with_loading(double us)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		note(LOADER, at(i, 0), us);
		op("aten::mm", at(i, us), 900 - us);
	}
}

/* So many operators a step, `small` of them below 5 us, and the rest of the step without.
 */
static void fill_ops(unsigned n, unsigned small, double step)
{
	begin_gpu(step, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < n; k++)
			op("aten::add", at(i, k * 6), k < small ? 4 : 5);
}

static void with_ops(double n)
{
	fill_ops((unsigned)n, (unsigned)n, n * 6);
}

static void with_small(double n)
{
	fill_ops(MANY, (unsigned)n, MANY * 6);
}

/* 600 operators of 4 us, and `gap` us between them: 15 % is 0.706 us. */
static void with_rest(double gap)
{
	begin_gpu(MANY * (4 + gap), 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < MANY; k++)
			op("aten::add", at(i, k * (4 + gap)), 4);
}

/* One pause of 50 ms, a checkpoint say, is no price of small operators: gaps are. */
static void with_pause(double gap)
{
	begin_gpu(60000 + MANY * gap, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < MANY; k++)
			op("aten::add", at(i, k * (4 + gap) + (k < MANY / 2 ? 0 : 50000)),
			   4);
}

static void with_items(double n)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < n; k++) {
			op("aten::item", at(i, k * 10), 5);
			op("aten::_local_scalar_dense", at(i, k * 10 + 1), 2);
		}
}

/* Two large blocks of one place, freed in their step, and `other` bytes that stay. */
static void fill_blocks(long bytes, double other, double us)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 2; k++) {
			op("aten::empty", at(i, k * 100), us / 2);
			memory(at(i, k * 100 + us / 4), 77, bytes);
			memory(at(i, k * 100 + 50), 77, -bytes);
			op("aten::mm", at(i, k * 100 + 60), 30);
			memory(at(i, k * 100 + 70), 1000 + i * 2 + k, (long)other);
		}
}

static void with_block(double bytes)
{
	fill_blocks((long)bytes, 1000, 20);
}

static void with_other(double bytes)
{
	fill_blocks(3000000, bytes, 20);
}

static void with_alloc_time(double us)
{
	fill_blocks(LARGE, 1000, us);
}

static void with_compile(double at_step)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		op("aten::mm", at(i, 500), 400);
	note(COMPILES, at((unsigned)at_step, 0), 300);
}

/* Between a lookup and what it found, so many us. */
static void with_lookup(double us)
{
	begin_gpu(2000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		op("TorchDynamo Cache Lookup", at(i, 10), 10);
		if (i != 4)
			op("Torch-Compiled Region: 0/0", at(i, 20 + (i == 3 ? us : 5)),
			   500);
		else
			op("aten::mm", at(i, 1500),
			   20); /* what was found is not compiled */
	}
}

static void with_length(unsigned which, double us)
{
	double begin = 1000;

	begin_gpu(1000, 0);
	for (unsigned i = 0; i < STEPS; i++) {
		step(i, begin, i == which ? us : 1000);
		op("aten::mm", begin, 900);
		begin += i == which ? us : 1000;
	}
}

static void with_odd(double us)
{
	with_length(3, us);
}

static void with_first(double us)
{
	with_length(0, us);
}

static void with_cost(double us)
{
	begin_gpu(1000, 0);
	rewind(file);
	fprintf(file,
		"{\"proflaunch\":{\"cost\":{\"estimated overhead us\":%f}},"
		"\"traceEvents\":[",
		us);
	steps_of(STEPS);
	op("aten::mm", at(4, 990), 10);
	op("aten::mm", at(5, 0), 10);
}

static void with_events(double n)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	/* The step itself is an event, too. */
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k + 1 < n; k++)
			op("a", at(i, k * 2), 1);
}

static void with_collective(double us)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		note("gloo:all_reduce", at(i, 10), us);
		op("aten::copy_", at(i, 11), us - 2); /* its own */
	}
}

static const struct turn turns[] = {
	{ "dataloader", with_loading, 50, 51 },
	{ "tiny-ops", with_ops, 499, 500 },
	{ "tiny-ops", with_small, 299, 300 },
	{ "tiny-ops", with_rest, 0.70, 0.72 },
	{ "tiny-ops", with_pause, 0, 99 },
	{ "sync-point", with_items, 1, 2 },
	{ "malloc-churn", with_block, (1 << 20) - 1, 1 << 20 },
	{ "malloc-churn", with_other, 7100000, 6900000 },
	{ "malloc-churn", with_alloc_time, 9.9, 10 },
	{ "recompile", with_compile, 1, 2 },
	{ "recompile", with_lookup, 1000, 1001 },
	{ "steps-vary", with_odd, 1300, 1310 },
	{ "first-step", with_first, 1300, 1301 },
	{ "overhead", with_cost, 499, 505 },
	{ "overhead", with_events, 300, 301 },
	{ "communication", with_collective, 100, 101 },
};

START_TEST(rule_turns_at_its_threshold)
{
	check_turn(&turns[_i]);
}
END_TEST

/* ---- what is no advice ---- */

/* The loader takes 200 us in steps 1 to n of 6, and 10 in the others. */
static void load_in(unsigned n)
{
	begin_gpu(1000, 0);
	steps_of(7);
	for (unsigned i = 0; i < 7; i++) {
		note(LOADER, at(i, 0), i && i <= n ? 200 : 10);
		op("aten::mm", at(i, 200), 700);
	}
	advise();
}

START_TEST(rule_holds_in_two_thirds_of_steps)
{
	load_in(3);
	ck_assert(!told("dataloader"));
	advised_end();
	load_in(4);
	ck_assert(strstr(told("dataloader")->seen, "in 4 of 6 steps (20 %)") != NULL);
	advised_end();
}
END_TEST

START_TEST(rule_holds_in_the_median_step)
{
	/* The loader is in four of six steps, and they are not as long as the others. */
	static const double us[] = { 1000, 100, 100, 900, 900, 1000, 1000 };
	double begin = 1000;

	begin_gpu(1000, 0);
	for (unsigned i = 0; i < 7; i++, begin += 2000) {
		step(i, begin, us[i]);
		note(LOADER, begin, i == 3 || i == 4 ? 10 : 90);
		op("aten::mm", begin + 90, us[i] - 90);
	}
	advise();
	ck_assert(!told("dataloader"));
	advised_end();
}
END_TEST

START_TEST(first_step_is_not_judged)
{
	begin_gpu(1000, 0);
	steps_of(4);
	note(LOADER, at(0, 0), 900);
	for (unsigned i = 1; i < 4; i++)
		op("aten::mm", at(i, 0), 900);
	advise();
	ck_assert(!told("dataloader"));
	ck_assert_uint_eq(evidence.judged, 3);
	advised_end();
}
END_TEST

START_TEST(what_lies_in_the_hosts_memory_stops_nothing)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		note("Optimizer.step#Adam.step", at(i, 0), 500);
		note(LOADER, at(i, 600), 40);
		for (unsigned k = 0; k < 4; k++) {
			op("aten::item", at(i, k * 10), 5);
			op("aten::item", at(i, 600 + k * 10), 5);
		}
	}
	advise();
	ck_assert(!told("sync-point"));
	advised_end();
}
END_TEST

START_TEST(collective_that_operators_hide_is_no_advice)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		note("gloo:all_reduce", at(i, 10), 400);
		op("aten::copy_", at(i, 20), 300); /* its own */
		slice(2, "cpu_op", "aten::mm", at(i, 15), 315, "");
	}
	advise();
	ck_assert(!told("communication"));
	advised_end();
}
END_TEST

START_TEST(without_memory_its_rule_is_silent)
{
	with_loading(5);
	advise();
	ck_assert(is_silent("malloc-churn"));
	advised_end();
	with_block(5);
	advise();
	ck_assert(!is_silent("malloc-churn"));
	advised_end();
}
END_TEST

START_TEST(without_steps_their_rules_are_silent)
{
	begin_gpu(1000, 0);
	op("aten::mm", at(0, 0), 900);
	note(COMPILES, at(0, 10), 300);
	advise();
	ck_assert(is_silent("recompile") && is_silent("steps-vary") &&
		  is_silent("first-step"));
	ck_assert(!is_silent("dataloader") && !told("recompile"));
	advised_end();
}
END_TEST

START_TEST(without_operators_their_rules_are_silent)
{
	begin_gpu(1000, 0);
	memory(at(0, 0), 1, 5);
	advise();
	ck_assert(!advices.n);
	advised_end();
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("advice");

	tcase_add_loop_test(t, rule_turns_at_its_threshold, 0,
			    (int)(sizeof(turns) / sizeof(*turns)));
	tcase_add_test(t, rule_holds_in_two_thirds_of_steps);
	tcase_add_test(t, rule_holds_in_the_median_step);
	tcase_add_test(t, first_step_is_not_judged);
	tcase_add_test(t, what_lies_in_the_hosts_memory_stops_nothing);
	tcase_add_test(t, collective_that_operators_hide_is_no_advice);
	tcase_add_test(t, without_memory_its_rule_is_silent);
	tcase_add_test(t, without_steps_their_rules_are_silent);
	tcase_add_test(t, without_operators_their_rules_are_silent);
	return unit_run(t, "report_advice");
}
