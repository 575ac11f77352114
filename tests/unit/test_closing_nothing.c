/* SPDX-License-Identifier: Apache-2.0 */
/* Why nothing was recorded, and what to do. */
#include "tests/unit/closing_bench.h"

START_TEST(a_schedule_says_what_it_needs)
{
	config.malloc = 0;
	totals.spools = 1;
	totals.boundaries = 40;
	totals.most = 4;
	strcpy(config.schedule, "skip_first=1,wait=3,warmup=2,active=1");
	says("nothing was recorded: 4 steps ended, and --schedule skip_first=1,wait=3,warmup=2,active=1 records from step 6 on;");
	says("or this one with --schedule wait=1,warmup=2,active=1\n");
	strcpy(config.schedule, "wait=6,warmup=2,active=4,skip_first_wait=1");
	totals.boundaries = totals.most = 1;
	says("1 step ended, and --schedule wait=6,warmup=2,active=4,skip_first_wait=1 records from step 2 on;");
	totals.boundaries = totals.most = 4;
	strcpy(totals.chosen, "Optimizer.step");
	config.schedule[0] = '\0';
	says("4 steps ended (Optimizer.step), and --schedule wait=1,warmup=1,active=3,repeat=1 records from step 2 on");
}
END_TEST

/* The user's own plan stays, as far as it can be. */
static const struct {
	const char *plan;
	unsigned steps;
	const char *want;
} earlier[] = {
	{ "wait=40,active=3", 12, "--schedule wait=9,active=3\n" },
	{ "wait=40,active=3", 3, "--schedule active=3\n" },
	{ "wait=40,active=3", 1, "--schedule active=3\n" },
	{ "skip_first=100,warmup=2,active=10,repeat=2", 50,
	  "--schedule wait=38,warmup=2,active=10,repeat=2\n" },
};

START_TEST(the_plan_is_kept_in_what_is_advised)
{
	totals.spools = 1;
	totals.boundaries = totals.most = earlier[_i].steps;
	strcpy(config.schedule, earlier[_i].plan);
	says(earlier[_i].want);
}
END_TEST

START_TEST(what_was_seen_instead_of_a_marker_is_named)
{
	config.malloc = 0;
	totals.spools = 1;
	says("nothing was recorded: no training step was recognised (marker auto looks for DataLoader and Optimizer.step); no annotation was seen;");
	tally_add(&totals.seen, "train", 5, 3);
	totals.loader_nexts = 2;
	says("2 batches of a DataLoader but no Optimizer.step");
	says("annotations seen: train 3×;");
	tally_add(&totals.seen, "Optimizer.step#SGD.step", 23, 12);
	strcpy(config.marker, "torch:mine");
	says("the marker torch:mine never matched; annotations seen: Optimizer.step#SGD.step 12×, train 3×; check its spelling");
	totals.windows = 1;
	says("a window was open, but no operator ran in it\n");
	config.malloc = 3;
	says("a window was open, but nothing was allocated in it, and no operator ran");
}
END_TEST

/* The page knows who had the agent: nothing is said of those who had not. */
START_TEST(who_had_the_agent_is_named)
{
	config.malloc = 0;
	says("nothing was recorded: libproflaunch.so was loaded into no program of this run");
	tally_add(&programs, "env", 3, 1);
	says("nothing was recorded: no program that ran under proflaunch (1: env) loaded PyTorch or CUDA. proflaunch doctor");
	cleared = 1;
	says("(1: env) loaded PyTorch or CUDA, and others started without it: was the environment cleared (env -i, sudo)? proflaunch doctor");
	cleared = 0;
	says("the heap of any program: --malloc sample, or all\n");
	ck_assert_ptr_null(strstr(said, "marker"));
	tally_add(&programs, "bash", 4, 2);
	says("(3: bash 2, env 1) loaded PyTorch or CUDA.");
	strcpy(config.marker, "torch:step");
	says("the heap of any program: --malloc sample, or all, and --marker none");
	config.malloc = 3;
	says("(3: bash 2, env 1) loaded PyTorch. proflaunch");
	config.malloc = MALLOC_SAMPLE;
	strcpy(config.marker, "auto");
	says("what ran under proflaunch (3: bash 2, env 1) allocated too little for a sample");
	cleared = 1;
	says("what ran under proflaunch (3: bash 2, env 1) allocated too little for a sample, and the rest started without it: was the environment cleared (env -i, sudo)?");
	ck_assert_ptr_null(strstr(said, "try --malloc all"));
	strcpy(config.marker, "torch:step");
	says("the marker torch:step waits for PyTorch; the heap of any program: --marker none");
	cleared = 2;
	says("2 programs ran without being profiled: 2 started without LD_PRELOAD in the environment");
	cleared = 0;
}
END_TEST

START_TEST(a_line_has_eight_names)
{
	char name[] = "p0";

	config.malloc = 0;
	for (unsigned i = 0; i < 10; i++, name[1]++)
		tally_add(&programs, name, 2, i + 1);
	says("(55: p9 10, p8 9, p7 8, p6 7, p5 6, p4 5, p3 4, p2 3, 3 others)");
}
END_TEST

/* What is true of other programs is not said of these. */
START_TEST(what_was_asked_for_and_is_not_there_is_named)
{
	config.malloc = _i;
	strcpy(config.marker, "symbol:tiny");
	says("nothing was recorded: the function of the marker symbol:tiny was not seen");
	ck_assert_ptr_null(strstr(said, "neither libtorch"));
	ck_assert_ptr_null(strstr(said, "sample"));
	totals.spools = totals.windows = 1;
	says("nothing was recorded: a window was open");
	config.activities = ACTIVITIES_CUDA;
	says("nothing of a GPU was recorded, and --activities cuda leaves out all else: ");
	ck_assert(strstr(said, access("/dev/nvidiactl", F_OK) && access("/dev/dxg", F_OK)
				       ? "this machine shows no NVIDIA GPU"
				       : "no CUDA call was seen"));
	ck_assert_ptr_null(strstr(said, "nothing was recorded"));
	totals.events[REC_CALL] = totals.files = 1;
	says("1 trace file");
	ck_assert_ptr_null(strstr(said, "nothing"));
	totals.events[REC_CALL] = 0;
	says("1 trace file");
	ck_assert_ptr_nonnull(strstr(said, "nothing of a GPU was recorded"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("closing_nothing");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_schedule_says_what_it_needs);
	tcase_add_loop_test(tc, the_plan_is_kept_in_what_is_advised, 0,
			    sizeof(earlier) / sizeof(*earlier));
	tcase_add_test(tc, what_was_seen_instead_of_a_marker_is_named);
	tcase_add_test(tc, who_had_the_agent_is_named);
	tcase_add_test(tc, a_line_has_eight_names);
	tcase_add_loop_test(tc, what_was_asked_for_and_is_not_there_is_named, 0,
			    MALLOC_ALL + 1);
	return unit_run(tc, "closing_nothing");
}
