/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sched/schedule.h"
#include "tests/unit/unit.h"

#include <stdint.h>

/* One letter for each step, from 0: . nothing, w warm-up, a recording, S recording and
 * saved at the next step. */
static const struct {
	const char *plan, *want;
} rows[] = {
	{ "active=1", "SSSS" },
	{ "active=3", "aaSaaS" },
	{ "wait=1,warmup=1,active=2", ".waS.waS" },
	{ "wait=1,warmup=1,active=2,repeat=1", ".waS....." },
	{ "skip_first=2,warmup=1,active=1", "..wSwS" },
	{ "warmup=2,active=1,repeat=2", "wwSwwS...." },
	{ "skip_first=1,wait=2,active=1,repeat=2", "...S..S..." },
	{ "skip_first=1,wait=2,active=1,repeat=2,skip_first_wait=1", ".S..S...." },
	{ "wait=3,warmup=1,active=1,skip_first_wait=5", "wS...wS...wS" },
	{ " wait = 1 ,\tactive=2 ", ".aS.aS" },
};

START_TEST(phases_follow_the_plan)
{
	struct schedule plan;
	char got[32] = "";

	ck_assert_ptr_null(schedule_parse(&plan, rows[_i].plan));
	for (size_t step = 0; rows[_i].want[step]; step++)
		got[step] = ".waS"[schedule_at(&plan, step)];
	ck_assert_str_eq(got, rows[_i].want);
}
END_TEST

START_TEST(wrong_plans_are_refused)
{
	static const char *const bad[] = {
		"",
		"wait=1",
		"active=0",
		"active",
		"active=",
		"active=-1",
		"active=1,",
		"active=1,active=2",
		"actve=1",
		"active=1 wait=2",
		"active=1;wait=2",
		"active=99999999999999999999",
		"active=1x",
		"=1",
		",active=1",
		"active==1",
	};
	struct schedule plan;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(schedule_parse(&plan, bad[i]), "accepted: %s", bad[i]);
}
END_TEST

static const struct {
	const char *plan, *want;
} reasons[] = {
	{ "wait=1,activ=3",
	  "unknown word 'activ=3' (did you mean active?); known are skip_first, wait, warmup, active, repeat, skip_first_wait" },
	{ "elephants=3",
	  "unknown word 'elephants=3'; known are skip_first, wait, warmup, active, repeat, skip_first_wait" },
	{ "active=1,",
	  "a word is missing; known are skip_first, wait, warmup, active, repeat, skip_first_wait" },
	{ "active=1.5",
	  "'1.5' is no whole number from 0 to 1000000000000, in 'active=1.5'" },
	{ "wait=2, active=x",
	  "'x' is no whole number from 0 to 1000000000000, in 'active=x'" },
	{ "active", "'active' needs a number: word=number" },
	{ "active=1 wait=2", "'wait=2' must follow a comma" },
	{ "active=1,active=2", "'active=2' is given twice" },
	{ "wait=3", "active must be given, and be at least 1" },
};

START_TEST(what_is_wrong_is_quoted)
{
	struct schedule plan;

	ck_assert_pstr_eq(schedule_parse(&plan, reasons[_i].plan), reasons[_i].want);
}
END_TEST

START_TEST(every_window_is_saved_exactly_once)
{
	struct schedule plan = {
		.skip_first = 7, .wait = 3, .warmup = 2, .active = 4, .repeat = 11
	};
	unsigned saved = 0;

	for (uint64_t step = 0; step < 1000; step++)
		saved += schedule_at(&plan, step) == PHASE_SAVE;
	ck_assert_uint_eq(saved, 11);
}
END_TEST

START_TEST(the_largest_plan_does_not_overflow)
{
	struct schedule plan;

	ck_assert_ptr_null(schedule_parse(&plan,
					  "skip_first=1000000000000,wait=1000000000000,"
					  "warmup=1000000000000,active=1000000000000"));
	ck_assert_int_eq(schedule_at(&plan, 4000000000000 - 1), PHASE_SAVE);
	ck_assert_int_eq(schedule_at(&plan, UINT64_MAX), schedule_at(&plan, UINT64_MAX));
}
END_TEST

/* The transition table of torch.profiler, row by row: actions in order. */
enum { N = PHASE_NONE, W = PHASE_WARMUP, R = PHASE_RECORD, S = PHASE_SAVE };
static const struct {
	int before, after;
	const char *actions; /* P prepare, S start, X stop, R ready */
} table[] = {
	{ N, N, "" },   { N, W, "P" },   { N, R, "PS" },   { N, S, "PS" },
	{ W, N, "SX" }, { W, W, "" },    { W, R, "S" },    { W, S, "S" },
	{ R, N, "X" },  { R, W, "X" },   { R, R, "" },     { R, S, "" },
	{ S, N, "XR" }, { S, W, "XRP" }, { S, R, "XRPS" }, { S, S, "XRPS" },
};

START_TEST(transitions_are_those_of_torch)
{
	unsigned todo = schedule_change(table[_i].before, table[_i].after);
	char got[8] = "", *p = got;

	for (unsigned bit = 0; bit < 6; bit++)
		if (todo & 1u << bit)
			*p++ = "PSXRPS"[bit];
	ck_assert_str_eq(got, table[_i].actions);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("schedule");

	tcase_add_loop_test(tc, phases_follow_the_plan, 0,
			    sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(tc, wrong_plans_are_refused);
	tcase_add_loop_test(tc, what_is_wrong_is_quoted, 0,
			    sizeof(reasons) / sizeof(*reasons));
	tcase_add_test(tc, every_window_is_saved_exactly_once);
	tcase_add_test(tc, the_largest_plan_does_not_overflow);
	tcase_add_loop_test(tc, transitions_are_those_of_torch, 0,
			    sizeof(table) / sizeof(table[0]));
	return unit_run(tc, "schedule");
}
