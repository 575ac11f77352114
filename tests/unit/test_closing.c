/* SPDX-License-Identifier: Apache-2.0 */
/* What is said in the end, also of programs that wrote into their own spools. */
#include "tests/unit/closing_bench.h"

static struct cycle_info info;
static struct writer_result result;

/* Nothing that a terminal obeys, no number that cannot be. */
static void is_sane(void)
{
	unsigned digits = 0;

	for (const char *c = said; *c; c++) {
		ck_assert_msg(*c == '\n' || (*c >= ' ' && *c != 0x7f), "%s", said);
		digits = *c >= '0' && *c <= '9' ? digits + 1 : *c == ',' ? digits : 0;
		ck_assert_msg(digits <= 16, "%s", said);
	}
}

static void fill(void *to, size_t size, unsigned seed)
{
	uint64_t x = 88172645463325252ull + seed;

	if (!seed)
		memset(to, 0xff, size);
	for (size_t i = 0; seed && i < size; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		((uint8_t *)to)[i] = (uint8_t)(x >> 32);
	}
}

START_TEST(whatever_a_program_wrote_there)
{
	for (unsigned i = 0; i < 300; i++) {
		fill(head, sizeof(*head), i);
		fill(&info, sizeof(info), i);
		fill(&result, sizeof(result), i);
		strcpy(result.path, "/tmp/log/a.pt.trace.json");
		result.is_small = false; /* the writer's own word */
		totals_add_header(&totals, head);
		totals_add_window(&totals, head, &info, &result);
		totals_add_result(&totals, &result);
		say();
		is_sane();
	}
	ck_assert_uint_eq(totals.files, 300);
	ck_assert_str_eq(totals.last_file, "/tmp/log/a.pt.trace.json");
}
END_TEST

START_TEST(no_sum_wraps)
{
	for (unsigned i = 0; i < 20000; i++) {
		head->sched.boundaries = TOTALS_EACH - 1;
		head->totals.whys[DROP_LATE] = TOTALS_EACH;
		totals_add_header(&totals, head);
	}
	ck_assert_uint_eq(totals.boundaries, TOTALS_MOST);
	ck_assert_uint_eq(totals.whys[DROP_LATE], TOTALS_MOST);
	head->sched.boundaries = UINT64_MAX;
	strcpy(head->sched.chosen, "a lie");
	totals_add_header(&totals, head);
	ck_assert_str_ne(totals.chosen, "a lie");
	ck_assert_uint_eq(totals.most, TOTALS_EACH - 1);
}
END_TEST

/* As a process with a finisher counts them itself. */
START_TEST(what_only_a_process_knows_is_added)
{
	head->sched.boundaries = 7;
	strcpy(head->sched.chosen, "Optimizer.step");
	head->totals.drops[REC_OP] = 5;
	head->totals.whys[DROP_LATE] = 5;
	totals_add_header(&totals, head);
	strcpy(result.path, "/tmp/log/a.pt.trace.json");
	result.steps = 3;
	result.is_small = false;
	totals_add_result(&totals, &result);
	say();
	ck_assert_ptr_nonnull(strstr(said, "1 trace file in /tmp/log: 3 steps"));
	ck_assert_ptr_nonnull(strstr(said, "7 steps ended (Optimizer.step)"));
	ck_assert_ptr_nonnull(strstr(said, "5 events came after their window")
				      ?: strstr(said, "5 events came after its window"));
}
END_TEST

/* All that is known of a window may be what was lost of it. */
START_TEST(losses_without_a_file_are_told)
{
	memset(&result, 0, sizeof(result));
	result.cuda[CUDA_UNFETCHED] = 1;
	totals_add_result(&totals, &result);
	totals.spools = totals.windows = 1;
	says("nothing was recorded: a window was open");
	says("1 window written before CUPTI had given back all");
}
END_TEST

/* A helper that chose something else, and saw no step, is not who is told of. */
START_TEST(boundaries_are_of_who_saw_most)
{
	totals.files = 1;
	head->sched.boundaries = 7;
	strcpy(head->sched.chosen, "Optimizer.step");
	totals_add_header(&totals, head);
	head->sched.boundaries = 0;
	strcpy(head->sched.chosen, "DataLoader");
	totals_add_header(&totals, head);
	say();
	ck_assert_ptr_nonnull(strstr(said, "7 steps ended (Optimizer.step)"));
}
END_TEST

START_TEST(names_are_told_without_what_a_terminal_obeys)
{
	strcpy(totals.chosen, "\033[2J\302\2331m\2331m\nÄ");
	totals.boundaries = totals.files = 1;
	say();
	ck_assert_ptr_nonnull(strstr(said, "?[2J??1m?1m\nÄ)"));
}
END_TEST

static const struct {
	uint64_t kernels, graphs, copies, calls;
	const char *want;
} gpu[] = {
	{ 0, 0, 3, 4, "on the GPU: 0 kernels, 3 memory operations, from 4 CUDA calls\n" },
	{ 0, 0, 0, 1, "on the GPU: 0 kernels, 0 memory operations, from 1 CUDA call\n" },
	{ 1, 0, 0, 1, "on the GPU: 1 kernel, 0 memory operations, from 1 CUDA call\n" },
	{ 0, 2, 0, 2, "on the GPU: 2 graphs, 0 memory operations, from 2 CUDA calls\n" },
	{ 5, 1, 1, 7,
	  "on the GPU: 5 kernels, 1 graph, 1 memory operation, from 7 CUDA calls\n" },
};

START_TEST(what_the_gpu_did_is_counted)
{
	totals.files = 1;
	totals.events[REC_KERNEL] = gpu[_i].kernels;
	totals.events[REC_GRAPH] = gpu[_i].graphs;
	totals.events[REC_COPY] = gpu[_i].copies;
	totals.events[REC_CALL] = gpu[_i].calls;
	says(gpu[_i].want);
}
END_TEST

/* What can be pasted into a shell is one word there. */
START_TEST(paths_can_be_pasted)
{
	totals.files = totals.events[REC_OP] = 1;
	strcpy(config.logdir, "/tmp/it's a log");
	says("tensorboard --logdir '/tmp/it'\\''s a log'\n");
	strcpy(config.logdir, "/tmp/plain-log_1.2");
	says("tensorboard --logdir /tmp/plain-log_1.2\n");
}
END_TEST

/* Allocations that are shown are events of the file, too. */
START_TEST(processes_and_events_are_counted)
{
	totals.files = 3;
	totals.events[REC_OP] = 5;
	totals.heap_rows = 2;
	tally_add(&totals.processes, "bash", 4, 2);
	says("3 trace files in /tmp/log: 7 events");
	says("3 files of 2 processes: bash\n");
	tally_add(&totals.processes, "env", 3, 1);
	totals.rows = 40;
	says("2 files of 3 processes: bash 2, env 1\n");
	says("one file of 40 processes that were short and small, a row for each\n");
	totals.files = 1;
	totals.rows = 0;
	say();
	ck_assert_ptr_null(strstr(said, "of 3 processes"));
}
END_TEST

/* In words, and not as files call them. */
START_TEST(what_is_missing_is_named)
{
	totals.files = 1;
	totals.drops[REC_ALLOC] = 243823;
	totals.drops[REC_OP] = 2;
	says("not recorded: 2 operators, 243,823 allocations\n");
	for (unsigned i = 1; i < REC_KINDS; i++)
		totals.drops[i] = 1;
	say();
	ck_assert_ptr_null(strstr(said, "(null)"));
	ck_assert_ptr_null(strchr(strstr(said, "not recorded: "), '_'));
}
END_TEST

START_TEST(a_full_disk_is_told)
{
	totals.files = 1;
	totals.failed = totals.unwritten = 2;
	says("the disk was full: 1 of 3 files is complete; make room, then proflaunch recover /tmp/log writes the others, whose records lie in /tmp/log/.proflaunch/job\n");
	totals.files = 2;
	says("2 of 4 files are complete");
	totals.files = 0;
	totals.unwritten = 1;
	says("0 of 1 file is complete");
	totals.unwritten = 0;
	says("the records of 2 processes could not be finished; they lie in");
}
END_TEST

/* Only where it matters. */
START_TEST(the_dialect_of_the_plugin_is_told)
{
	totals.files = totals.events[REC_OP] = 1;
	say();
	ck_assert_ptr_null(strstr(said, "tb043"));
	totals.loader_nexts = 8;
	says("torch-tb-profiler 0.4.3 shows no time for DataLoader in files of this dialect: record with --dialect tb043 for it\n");
	totals.events[REC_CALL] = 1;
	says("no time for DataLoader and CUDA calls in files");
	totals.loader_nexts = 0;
	says("no time for CUDA calls in files");
	config.dialect = DIALECT_TB043;
	say();
	ck_assert_ptr_null(strstr(said, "tb043"));
}
END_TEST

START_TEST(costs_are_of_the_run)
{
	totals.files = 1;
	totals.cost_ns = 20000000; /* of a second */
	says("about 20 ms of overhead (2 % of the run)\n");
	totals.torch_ns = 7000000;
	says("of overhead (2 % of the run; libtorch's part, 7 ms, is estimated)\n");
	totals.cost_ns = 1234000000;
	totals.events[REC_CALL] = 1;
	says("about 1.23 s of overhead (123.4 % of the run; libtorch's part, 7 ms, is estimated; without CUPTI's own in CUDA calls)\n");
}
END_TEST

/* Neither is part of what the program's threads have spent. */
START_TEST(the_finisher_and_the_wait_are_numbers_of_their_own)
{
	totals.files = 1;
	finisher_ns = 12000000;
	waited_ns = 2500000000;
	says(" 0 events, 12 ms in a helper process; you waited 2.5 s for the files\n");
}
END_TEST

/* ---- what is not there yet ---- */

START_TEST(what_goes_on_is_told)
{
	config.linger = false;
	totals.living = 1;
	says("1 process still running: proflaunch recover /tmp/log finishes");
	totals.late = 2;
	says("the records of 2 processes were not written within");
	ck_assert_ptr_nonnull(strstr(said, "1 process still running"));
	totals.failed = 1;
	says("the records of 1 process could not be finished; they lie in /tmp/log/.proflaunch/job");
	totals.lost = 3;
	says("the records of 3 processes lay in memory and could not be finished");
	config.linger = true;
	says("that goes on in the background, messages go to /tmp/log/proflaunch.log");
	says("1 process still running: what they record is finished as they go on");
}
END_TEST

/* Of several files `report` finds the one that tells most. */
START_TEST(where_the_time_went_is_said_of_operators)
{
	totals.files = 1;
	strcpy(totals.last_file, "/tmp/log/a.pt.trace.json");
	totals.events[REC_ALLOC] = 5;
	say();
	ck_assert_ptr_null(strstr(said, "where the time went"));
	totals.events[REC_OP] = 5;
	says("where the time went: proflaunch report /tmp/log/a.pt.trace.json\n");
	totals.files = 2;
	says("where the time went: proflaunch report /tmp/log\n");
}
END_TEST

START_TEST(flops_are_said_with_their_rate)
{
	totals.files = 1;
	say();
	ck_assert_ptr_null(strstr(said, "FLOP"));
	strcpy(result.path, "/tmp/log/a.pt.trace.json");
	result.is_small = false;
	result.flops = (struct flops_total){ 3, 0, 1240000000, 260000000 };
	totals_add_result(&totals, &result);
	totals_add_result(&totals, &result);
	says("2.48 GFLOP in 520 ms of windows, 4.77 GFLOP/s\n");
	result.flops = (struct flops_total){ 0, 1, 0, 0 };
	totals_add_result(&totals, &result);
	says("4.77 GFLOP/s; those of 1 operator could not be computed\n");
	result.flops = (struct flops_total){ 1, 0, UINT64_MAX, UINT64_MAX };
	totals_add_result(&totals, &result);
	says("18.4 EFLOP in 18446744074 s of windows, 1 GFLOP/s");
	ck_assert_uint_eq(totals.flops.total, UINT64_MAX);
	totals.flops = (struct flops_total){ 1, 0, 999500, 0 };
	says("1 MFLOP in 0 ms of windows, 0 FLOP/s\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("closing");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, whatever_a_program_wrote_there);
	tcase_add_test(tc, no_sum_wraps);
	tcase_add_test(tc, what_only_a_process_knows_is_added);
	tcase_add_test(tc, losses_without_a_file_are_told);
	tcase_add_test(tc, names_are_told_without_what_a_terminal_obeys);
	tcase_add_test(tc, boundaries_are_of_who_saw_most);
	tcase_add_loop_test(tc, what_the_gpu_did_is_counted, 0,
			    sizeof(gpu) / sizeof(*gpu));
	tcase_add_test(tc, paths_can_be_pasted);
	tcase_add_test(tc, processes_and_events_are_counted);
	tcase_add_test(tc, what_is_missing_is_named);
	tcase_add_test(tc, a_full_disk_is_told);
	tcase_add_test(tc, the_dialect_of_the_plugin_is_told);
	tcase_add_test(tc, costs_are_of_the_run);
	tcase_add_test(tc, the_finisher_and_the_wait_are_numbers_of_their_own);
	tcase_add_test(tc, what_goes_on_is_told);
	tcase_add_test(tc, flops_are_said_with_their_rate);
	tcase_add_test(tc, where_the_time_went_is_said_of_operators);
	return unit_run(tc, "closing");
}
