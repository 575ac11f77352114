/* SPDX-License-Identifier: Apache-2.0 */
/* What is first, what is not told, what rules say of themselves, and hostile files. */
#include "tests/unit/advice_trace.h"

#define LOADER   "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define COMPILES "_compile.compile_inner (dynamo_timed)"

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

static void with_events(double n)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	/* The step itself is an event, too. */
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k + 1 < n; k++)
			op("a", at(i, k * 2), 1);
}

START_TEST(largest_gain_is_first_and_what_cannot_be_said_last)
{
	begin_gpu(1000, 0);
	step(0, 0, 1000 + 4000);
	for (unsigned i = 4; i < 10; i++) {
		step(i, at(i, 0), 1000);
		note(LOADER, at(i, 0), 300);
		note("gloo:all_reduce", at(i, 400), 200);
		op("aten::item", at(i, 700), 5);
		op("aten::item", at(i, 710), 5);
		op("aten::mm", at(i, 720), 280);
	}
	advise();
	ck_assert_uint_eq(advices.n, 4);
	ck_assert_str_eq(advices.row[0].rule, "communication");
	ck_assert_str_eq(advices.row[1].rule, "dataloader");
	/* Half of it, as workers would take the same cores. */
	ck_assert_int_eq(advices.row[1].gain, 150000);
	ck_assert_str_eq(advices.row[2].rule, "sync-point");
	ck_assert_str_eq(advices.row[3].rule, "first-step");
	advised_end();
}
END_TEST

START_TEST(doubtful_times_are_said_before_all)
{
	with_events(400);
	for (unsigned i = 0; i < STEPS; i++)
		slice(2, "user_annotation", "gloo:all_reduce", at(i, 810), 180, "");
	advise();
	ck_assert_str_eq(advices.row[0].rule, "overhead");
	ck_assert_str_eq(advices.row[1].rule, "communication");
	advised_end();
}
END_TEST

START_TEST(consequence_is_dropped_or_below_its_cause)
{
	/* Both make step 3 longer: a compilation by 200 or 30 us of 400. */
	static const double us[] = { 400, 100 };

	for (unsigned i = 0; i < 2; i++) {
		with_length(3, 1400);
		note(COMPILES, 1000 + 3000 + 900, us[i]);
		advise();
		ck_assert_str_eq(advices.row[0].rule, "recompile");
		if (i) {
			ck_assert_str_eq(advices.row[1].rule, "steps-vary");
			ck_assert(advices.row[1].consequence);
			ck_assert_int_gt(advices.row[1].gain, advices.row[0].gain);
		} else {
			ck_assert(!told("steps-vary"));
		}
		advised_end();
	}
}
END_TEST

START_TEST(few_steps_are_said)
{
	for (unsigned n = 1; n < 5; n++) {
		const char *seen, *few;
		char want[64];

		begin_gpu(1000, 0);
		steps_of(n);
		for (unsigned i = 0; i < n; i++)
			note(LOADER, at(i, 0), 400);
		advise();
		seen = told("dataloader")->seen;
		few = strstr(seen, "; from");
		snprintf(want, sizeof(want), "; from %u step%s only", n < 3 ? 1 : n - 1,
			 n < 3 ? "" : "s");
		ck_assert_msg(n < 4 ? few && !strcmp(few, want) : !few, "%u: %s", n,
			      seen);
		advised_end();
	}
}
END_TEST

START_TEST(what_is_worth_less_than_a_hundredth_is_not_told)
{
	/* One step of 4: it varies by a third, 0.97 or 1.03 % of all. */
	static const double us[] = { 1320, 1340 };

	for (unsigned i = 0; i < 2; i++) {
		double begin = 1000;

		begin_gpu(1000, 0);
		for (unsigned k = 0; k < 34; k++) {
			step(k, begin, k == 9 ? us[i] : k == 10 ? 999 : 1000);
			begin += k == 9 ? us[i] : 1000;
		}
		advise();
		ck_assert_int_eq(told("steps-vary") != NULL, i);
		advised_end();
	}
}
END_TEST

START_TEST(gain_is_a_step_at_most)
{
	with_length(3, 90000);
	note(COMPILES, 1000 + 3000, 80000);
	advise();
	ck_assert_int_eq(told("recompile")->gain, evidence.step);
	advised_end();
}
END_TEST

START_TEST(steps_that_vary_evenly_cost_nothing)
{
	begin_gpu(1000, 0);
	for (unsigned i = 0; i < 4; i++)
		step(i, 1000 + 2000 * i, i == 1 ? 700 : i == 2 ? 1300 : 1000);
	advise();
	ck_assert(!advices.n);
	advised_end();
}
END_TEST

START_TEST(hostile_files_are_survived)
{
	static const char *const traces[] = {
		"[]",
		"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":0,"
		"\"dur\":9223372036854775,\"args\":{\"correlation\":1}},"
		"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaStreamSynchronize\",\"pid\":1,"
		"\"tid\":1,\"ts\":0,\"dur\":9223372036854775,\"args\":{\"correlation\":1}},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::item\",\"pid\":1,\"tid\":1,\"ts\":0,"
		"\"dur\":9223372036854775,\"args\":{\"External id\":1,\"Call stack\":\";;;\"}}]",
		"[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,"
		"\"tid\":1,\"ts\":5,\"dur\":0},"
		"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#2\",\"pid\":1,"
		"\"tid\":1,\"ts\":5,\"dur\":0.001},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"\",\"pid\":0,\"tid\":0,\"ts\":5,\"dur\":0}]",
		"{\"deviceProperties\":[{\"id\":0,\"totalGlobalMem\":-5,\"computeMajor\":9}],"
		"\"traceEvents\":[{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":5,"
		"\"args\":{\"Addr\":-1,\"Bytes\":-9223372036854775808,\"Device Type\":1,"
		"\"Device Id\":0,\"Total Allocated\":9223372036854775807}},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9}]}",
	};

	advise_text(traces[_i], strlen(traces[_i]));
	ck_assert_uint_le(advices.n, ADVICE_MOST);
	for (unsigned i = 0; i < advices.n; i++)
		ck_assert_int_le(advices.row[i].gain, evidence.step);
	advised_end();
}
END_TEST

START_TEST(rules_are_explained)
{
	FILE *out = open_memstream(&said, &said_len);

	ck_assert(advice_explain(out, "dataloader"));
	ck_assert(!advice_explain(out, "no-rule"));
	fclose(out);
	says(said, "more than 5 %");
	ck_assert(!strstr(said, "first-step"));
	free(said);
	out = open_memstream(&said, &said_len);
	ck_assert(advice_explain(out, NULL));
	fclose(out);
	says(said, "\n\nfirst-step\n");
	for (const char *line = said, *end; (end = strchr(line, '\n')); line = end + 1)
		ck_assert_int_le(end - line, 78);
	free(said);
	said = NULL;
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("advice");

	tcase_add_test(t, largest_gain_is_first_and_what_cannot_be_said_last);
	tcase_add_test(t, doubtful_times_are_said_before_all);
	tcase_add_test(t, consequence_is_dropped_or_below_its_cause);
	tcase_add_test(t, few_steps_are_said);
	tcase_add_test(t, what_is_worth_less_than_a_hundredth_is_not_told);
	tcase_add_test(t, gain_is_a_step_at_most);
	tcase_add_test(t, steps_that_vary_evenly_cost_nothing);
	tcase_add_loop_test(t, hostile_files_are_survived, 0, 4);
	tcase_add_test(t, rules_are_explained);
	return unit_run(t, "report_advice_order");
}
