/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing, why, and what to do. */
#include "tests/unit/closing_bench.h"

static struct cycle_info info;
static struct writer_result result;

/* Records of a process that was killed at the cap: the window says why. */
START_TEST(why_records_are_missing_is_told)
{
	memset(&info, 0, sizeof(info));
	memset(&result, 0, sizeof(result));
	info.whys[DROP_CAP] = 5;
	result.drops[REC_OP] = 5;
	strcpy(result.path, "/tmp/log/a.pt.trace.json");
	totals_add_window(&totals, head, &info, &result);
	totals_add_result(&totals, &result);
	config.buffer_mb = 64;
	says("not recorded: 5 operators");
	says("buffer_mb = 64 was full: record fewer active steps\n");
	/* Of three windows the one that lacks most says what would have held it. */
	for (unsigned i = 0; i < 3; i++) {
		result.events[REC_OP] = i == 1 ? 90 : 9000;
		info.whys[DROP_CAP] = 180;
		totals_add_window(&totals, head, &info, &result);
	}
	says("buffer_mb = 64 was full: --buffer-mb 256 should hold it all, where memory and disk allow; or record fewer active steps\n");
	/* Limits that made it smaller would do so again. */
	head->cap = 16 << 20;
	totals_add_window(&totals, head, &info, &result);
	head->cap = 1 << 20; /* a small one that was not full says nothing */
	info.whys[DROP_CAP] = 0;
	totals_add_window(&totals, head, &info, &result);
	totals_add_header(&totals, head);
	says("the buffer was full: limits (ulimit, control group, mlockall) left a process 16 MiB of buffer_mb = 64: record fewer active steps\n");
	/* More than the option takes. */
	totals.cap = 524288ull << 20;
	config.buffer_mb = 524288;
	says("buffer_mb = 524288 was full: record fewer active steps\n");
	ck_assert_ptr_null(strstr(said, "small objects"));
	config.python_stack = PYTHON_OPS;
	says("Python's small objects are recorded, too: --python-heap off leaves them out");
	config.python_heap = false;
	say();
	ck_assert_ptr_null(strstr(said, "small objects"));
	config.python_heap = true;
	config.malloc = MALLOC_SAMPLE;
	say();
	ck_assert_ptr_null(strstr(said, "small objects"));
}
END_TEST

static const struct {
	enum drop_kind why;
	const char *want;
} reasons[] = {
	{ DROP_CAP, "buffer_mb = " },
	{ DROP_START, "1 event came while recording began" },
	{ DROP_BOUNDARY, "1 step end not counted" },
	{ DROP_LATE, "1 event came after its window had been written" },
	{ DROP_GROUP, "1 heap record lost: the control group" },
	{ DROP_CONFINED, "1 record lost: the program forbade itself system calls" },
	{ DROP_LOCKED, "1 record lost: the program was locking or limiting its memory" },
};

START_TEST(each_reason_has_its_line)
{
	totals.whys[reasons[_i].why] = 1;
	totals.files = 1;
	says(reasons[_i].want);
}
END_TEST

/* More memory would not have helped. */
START_TEST(what_seccomp_costs_is_no_full_buffer)
{
	totals.whys[DROP_CONFINED] = 3;
	totals.missed = 2;
	totals.files = 1;
	confined = 1;
	says("3 records lost: the program forbade itself");
	says("2 windows could not be opened");
	says("1 process not recorded: the program that forked them had forbidden");
	ck_assert_ptr_null(strstr(said, "buffer_mb"));
}
END_TEST

/* Nor here, where the spool was small for a moment. */
START_TEST(what_locking_costs_is_no_full_buffer)
{
	totals.whys[DROP_LOCKED] = totals.locked_out = totals.files = 1;
	says("1 window could not be opened: the program was locking its memory");
	ck_assert_ptr_null(strstr(said, "buffer_mb"));
}
END_TEST

static const struct {
	enum cuda_count count;
	const char *want;
} losses[] = {
	{ CUDA_DROPPED, "1 GPU record lost" },
	{ CUDA_DISCARDED, "1 GPU record lost" },
	{ CUDA_ZERO, "1 GPU record without a time" },
	{ CUDA_REVERSED, "1 GPU record with times that cannot be" },
	{ CUDA_OUTSIDE, "1 GPU record with times that cannot be" },
	{ CUDA_UNDECODED, "1 buffer of CUPTI could not be read" },
	{ CUDA_MISSING, "1 launch whose GPU work never came back" },
	{ CUDA_UNMATCHED, "1 piece of GPU work whose launch was not seen" },
	{ CUDA_LATE, "1 GPU record came after" },
	{ CUDA_UNFETCHED, "1 window written before CUPTI had given back all" },
	{ CUDA_CROWDED, "more than 256 windows waited" },
	{ CUDA_UNNAMED, "1 GPU record without a name" },
	{ CUDA_GAPS, "CUPTI took that long to start (1 time)" },
};

START_TEST(each_loss_of_the_gpu_has_its_line)
{
	totals.cuda[losses[_i].count] = totals.files = 1;
	says(losses[_i].want);
}
END_TEST

START_TEST(a_gap_is_told_in_seconds)
{
	totals.files = 1;
	totals.cuda[CUDA_GAPS] = 2;
	totals.cuda[CUDA_GAP_NS] = 1500000000;
	says("the GPU was not recorded for 1.5 s: another profiler had CUPTI, or CUPTI took that long to start (2 times)");
	totals.cuda[CUDA_GAP_NS] = 4321987654321;
	says("the GPU was not recorded for 4321.987 s: ");
}
END_TEST

static const struct {
	struct writer_merges is;
	const char *said;
} merges[] = {
	{ { 900, 100, 0, 300 },
	  "lines of Python and native functions are apart in 100 of 1,000 call stacks: "
	  "one of the two is cut; try --stack-depth 300\n" },
	{ { 0, 1, 0, 20 }, "in 1 of 1 call stack: one of the two is cut\n" },
	{ { 901, 99, 0, 300 }, NULL },
	{ { 90, 0, 10, 0 },
	  "lines of Python and native functions are apart in 10 of 100 call stacks: "
	  "they do not show the same calls of the interpreter; each is right by itself, "
	  "and no option merges them\n" },
	{ { 91, 0, 9, 0 }, NULL },
	{ { 0, 0, 0, 0 }, NULL },
};

START_TEST(why_stacks_are_apart_is_told)
{
	totals.merges = merges[_i].is;
	totals.files = 1;
	say();
	if (merges[_i].said)
		says(merges[_i].said);
	ck_assert_int_eq(!!strstr(said, " apart"), merges[_i].said != NULL);
	ck_assert_int_eq(!!strstr(said, "--stack-depth"), _i == 0);
}
END_TEST

static const struct {
	uint32_t named;
	enum cfg_malloc malloc;
	const char *said;
} unnamed[] = {
	{ 1u << NATIVE_OPS, MALLOC_ALL,
	  "does not name malloc: --native-stacks ops,malloc" },
	{ 1u << NATIVE_CUDA, MALLOC_SAMPLE, ": --native-stacks cuda,malloc has them" },
	{ 1u << NATIVE_OPS, MALLOC_COUNT, NULL },
	{ 1u << NATIVE_OPS | 1u << NATIVE_MALLOC, MALLOC_ALL, NULL },
	{ 0, MALLOC_ALL, NULL },
};

START_TEST(allocations_that_were_not_named_are_told)
{
	config.native_stacks = unnamed[_i].named;
	config.malloc = unnamed[_i].malloc;
	totals.files = 1;
	say();
	if (unnamed[_i].said)
		says(unnamed[_i].said);
	ck_assert_int_eq(!!strstr(said, "--native-stacks"), unnamed[_i].said != NULL);
}
END_TEST

START_TEST(missing_stacks_of_python_are_told)
{
	totals.files = 1;
	config.buffer_mb = 2;
	totals.python[PYTHON_UNKNOWN] = 3;
	totals.python[PYTHON_UNPROVEN] = 1;
	totals.python[PYTHON_EXCHANGED] = 2;
	totals.python[PYTHON_UNSEEN] = 4;
	says("2 windows without Python's small objects: the allocators were exchanged");
	says("4 windows without Python's small objects: another tool allocates them");
	says("3 events without a call stack of Python: there was no room for more; try --buffer-mb 8\n");
	says("1 event without a call stack of Python: what was read was none of this interpreter's\n");
}
END_TEST

/* Two sizes of one buffer would be one too many. */
START_TEST(the_buffers_size_is_told_once)
{
	totals.files = 1;
	config.buffer_mb = 2;
	totals.python[PYTHON_UNKNOWN] = 3;
	totals.whys[DROP_CAP] = totals.drops[REC_OP] = 5;
	totals.held = totals.unheld = 1000;
	says("buffer_mb = 2 was full: --buffer-mb ");
	says("3 events without a call stack of Python: there was no room for more\n");
}
END_TEST

/* Each buffer by its own name, with its own size. */
START_TEST(the_buffer_that_was_full_is_named)
{
	totals.files = 1;
	config.buffer_mb = 2;
	config.cuda_buffer_mb = 16;
	config.cuda_device_buffer_mb = 256;
	totals.cuda[CUDA_DROPPED] = totals.cuda[CUDA_ZERO] = 1;
	totals.heap[HEAP_UNKNOWN_STACK] = 1;
	says("cuda_buffer_mb = 16 was full: try --cuda-buffer-mb 64\n");
	says("cuda_device_buffer_mb = 256 was full");
	says("try --cuda-device-buffer-mb 1024\n");
	says("there was no room for more; try --buffer-mb 8\n");
	config.buffer_mb = 1 << 24;
	says("there was no room for more\n");
	config.buffer_mb = 2;
	totals.cap = 1 << 20;
	says("there was no room for more\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("closing_losses");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, why_records_are_missing_is_told);
	tcase_add_test(tc, what_seccomp_costs_is_no_full_buffer);
	tcase_add_test(tc, what_locking_costs_is_no_full_buffer);
	tcase_add_loop_test(tc, each_reason_has_its_line, 0,
			    sizeof(reasons) / sizeof(*reasons));
	tcase_add_loop_test(tc, each_loss_of_the_gpu_has_its_line, 0,
			    sizeof(losses) / sizeof(*losses));
	tcase_add_test(tc, a_gap_is_told_in_seconds);
	tcase_add_loop_test(tc, why_stacks_are_apart_is_told, 0, 6);
	tcase_add_loop_test(tc, allocations_that_were_not_named_are_told, 0, 5);
	tcase_add_test(tc, missing_stacks_of_python_are_told);
	tcase_add_test(tc, the_buffer_that_was_full_is_named);
	tcase_add_test(tc, the_buffers_size_is_told_once);
	return unit_run(tc, "closing_losses");
}
