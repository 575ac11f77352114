/* SPDX-License-Identifier: Apache-2.0 */
/* What the consumer knows of itself, step by step; no thread runs. */
#include "base/sys.h"

static const void *woken; /* who waits there, last */

static void note_wake(_Atomic uint32_t *word)
{
	woken = word;
	sys_futex_wake(word);
}

#define sys_futex_wake note_wake
#include "agent/cupti/flow/consumer.c"
#undef sys_futex_wake

#include "agent/cupti/client/real.c"
#include "tests/unit/cupti_records.h"

static int flushes;

static int count_flush(uint32_t flag)
{
	(void)flag;
	flushes++;
	return 0;
}

/* cudaDeviceReset waits for that, a second at most. */
START_TEST(who_asked_for_a_flush_is_woken)
{
	records_start("12.4");
	bench_launch("kernel");
	cupti.ActivityFlushAll = count_flush;
	atomic_store(&flush_asked, 1);
	ck_assert(flush_due(1, false));
	ck_assert_uint_eq(atomic_load(&flush_done), 1);
	ck_assert_ptr_eq(woken, &flush_done);
	woken = NULL;
	session.deny |= DENY_FLUSH; /* nothing is fetched: then at once */
	atomic_store(&flush_asked, 2);
	ck_assert(flush_due(0, false));
	ck_assert_uint_eq(atomic_load(&flush_done), 2);
	ck_assert_ptr_eq(woken, &flush_done);
}
END_TEST

/* A GPU that is never idle is asked less and less often. */
START_TEST(flushes_come_ever_more_seldom)
{
	int64_t gap = FIRST_NS;

	records_start("12.4");
	bench_launch("kernel"); /* CUPTI has something to give back */
	cupti.ActivityFlushAll = count_flush;
	flush_gap = FIRST_NS;
	for (int i = 0; i < 12; i++) {
		flush_at = 0;
		ck_assert(flush_due(1, false));
		ck_assert_int_eq(flush_at - windows_now, gap);
		gap = gap * 2 < LONGEST_NS ? gap * 2 : LONGEST_NS;
		ck_assert_int_eq(flush_gap, gap);
		ck_assert(flush_due(1, false)); /* not yet */
		ck_assert_int_eq(flush_gap, gap);
	}
	ck_assert_int_eq(gap, LONGEST_NS);
	flush_at = 0;
	ck_assert(flush_due(1, true)); /* a window is open: at its own pace */
	ck_assert_int_eq(flush_at - windows_now, OPEN_NS);
	ck_assert_int_eq(flush_gap, LONGEST_NS);
}
END_TEST

/* Somebody who waits for a flush has one, whatever the time is. */
START_TEST(a_flush_that_is_asked_for_is_due)
{
	records_start("12.4");
	flush_at = INT64_MAX;
	atomic_store(&flush_asked, 7);
	ck_assert(flush_due(0, false));
	ck_assert_uint_eq(atomic_load(&flush_done), 7);
	ended = true; /* nothing will come: nobody waits either */
	atomic_store(&flush_asked, 8);
	ck_assert(flush_due(1, false));
	ck_assert_uint_eq(atomic_load(&flush_done), 8);
}
END_TEST

/* Numbers that are asked for go round; a level is reached or behind us. */
START_TEST(who_waits_waits_for_a_level)
{
	_Atomic uint32_t done = 5;

	ck_assert(wait_for(&done, 5, 1000000000000));
	ck_assert(wait_for(&done, 4, 1000000000000));
	ck_assert(!wait_for(&done, 6, 1000));
	ck_assert(!wait_for(&done, 6, 0));
	done = 2;
	ck_assert(wait_for(&done, UINT32_MAX, 1000000000000));
}
END_TEST

/* What came between a look and the sleep is not slept over. */
START_TEST(who_was_woken_just_before_does_not_sleep)
{
	uint32_t before = bell_seen();

	bell_wake();
	bell_sleep(before, -1);
	before = bell_seen();
	bell_sleep(before, 1000); /* nobody comes */
	ck_assert_uint_eq(bell_seen(), before);
	bell_near(true);
	bell_off(true);
	ck_assert(!bell_wants(true) && !bell_wants(false) && bell_is_off());
	bell_off(false);
	ck_assert(bell_wants(true) && bell_wants(false));
	bell_fork_child();
	ck_assert(bell_wants(true) && !bell_wants(false));
}
END_TEST

/* There is room for some callers; each of the others is looked up each time. */
START_TEST(one_caller_too_many_is_not_kept)
{
	static struct caller before[CALLERS];
	bool ours;
	void *real;

	bench_spool();
	bench_libraries("13.0");
	real = dlsym(bench.cupti, "cuptiActivityEnable");
	ck_assert_ptr_eq(real_of(YIELD_cuptiActivityEnable, (void *)before, &ours), real);
	ck_assert_uint_eq(seen.callers, 1);
	for (int i = 0; i < 2; i++)
		ck_assert_ptr_eq(
			real_of(YIELD_cuptiActivityEnable, (void *)bench.launch, &ours),
			real);
	ck_assert_uint_eq(seen.callers, 2);
	atomic_store(&seen.callers, CALLERS);
	memcpy(before, seen.caller, sizeof(before));
	for (int i = 0; i < 2; i++)
		ck_assert_ptr_eq(
			real_of(YIELD_cuptiActivityEnable, (void *)strlen, &ours), real);
	ck_assert_uint_eq(seen.callers, CALLERS);
	ck_assert_mem_eq(before, seen.caller, sizeof(before));
	ck_assert_uint_eq(atomic_load(&seen.lock), 0);
}
END_TEST

/* A call and its kernel lie in a buffer of ours; the call was made by this thread. */
static uint8_t *fill_buffer(size_t *size)
{
	uint8_t *mem;
	size_t most;

	store(add_call(7) + LAYOUT_AT_RUNTIME_threadId, sys_tid(), 4);
	store(add_work(CONCURRENT_KERNEL, 1, 7) + LAYOUT_AT_CONCURRENT_KERNEL_deviceId, 0,
	      4);
	buffers_requested(&mem, size, &most);
	ck_assert_ptr_nonnull(mem);
	memcpy(mem, buffer, filled);
	return mem;
}

/* On a machine that is busy enough the consumer has had no processor when the process
 * ends: what came back is in the file, and what did not is said to be missing. */
START_TEST(an_end_without_the_consumer_loses_nothing_unsaid)
{
	bool back = _i;
	uint8_t *mem;
	size_t size;

	records_start("12.4");
	atomic_store(&tid, 4711);
	mem = fill_buffer(&size);
	if (back)
		buffers_completed(NULL, 0, mem, size, filled);
	info->end = clock_ticks();
	cupti_sealed(info, true);
	ck_assert(!consumer_finish(0, true));
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_SETTLED);
	ck_assert_uint_eq(bench_records(info, REC_CALL), back);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), back);
	ck_assert_uint_eq(bench_count(info, CUDA_UNFETCHED), !back);
	ck_assert_uint_eq(bench_count(info, CUDA_MISSING), 0);
}
END_TEST

/* CUPTI was refused a buffer, and nobody has asked it what it dropped for that. */
START_TEST(what_was_refused_a_buffer_is_said_to_be_missing)
{
	bool asked = _i;
	uint8_t *mem;
	size_t size, most;

	records_start("12.4");
	atomic_store(&tid, 4711);
	while (buffers_requested(&mem, &size, &most), mem)
		;
	ck_assert_uint_eq(buffers_refused(), 1);
	if (asked)
		round_drops();
	info->end = clock_ticks();
	cupti_sealed(info, true);
	ck_assert(!consumer_finish(0, true));
	ck_assert_uint_eq(bench_count(info, CUDA_UNFETCHED), !asked);
}
END_TEST

/* _exit in a window: what was open is settled, and who takes over asks no driver. */
START_TEST(an_open_window_is_settled_at_the_end)
{
	const struct rec_device *device;
	bool back = _i;
	uint8_t *mem;
	size_t size;

	records_start("12.4");
	atomic_store(&tid, 4711);
	mem = fill_buffer(&size);
	if (back)
		buffers_completed(NULL, 0, mem, size, filled);
	ck_assert(!consumer_finish(0, true));
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_SETTLED);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), back);
	ck_assert_uint_eq(bench_count(info, CUDA_UNFETCHED), !back);
	device = bench_record(info, REC_GPU, 0);
	ck_assert(!back || (device && !device->sms && !device->memory));
}
END_TEST

/* Two threads end the process: the second one finds the first at work. */
START_TEST(one_thread_takes_over)
{
	records_start("12.4");
	ck_assert(round_take());
	ck_assert(!round_take());
	round_give();
	ck_assert(round_take());
}
END_TEST

/* CUPTI hangs as it is switched on, to the end. */
START_TEST(a_gap_that_lasts_to_the_end_is_told)
{
	records_start("12.4");
	atomic_store(&tid, 4711);
	session_gap_begins(1000000);
	atomic_store(&session.missing, true);
	ck_assert(!consumer_finish(0, true));
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
}
END_TEST

/* CUDA takes itself down between the two: what came back is read before. */
START_TEST(what_came_back_is_read_the_first_time)
{
	uint8_t *mem;
	size_t size;

	records_start("12.4");
	atomic_store(&tid, 4711);
	mem = fill_buffer(&size);
	buffers_completed(NULL, 0, mem, size, filled);
	ck_assert(!consumer_finish(0, false));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 1);
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_PENDING);
	ck_assert(!consumer_finish(0, true));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 1);
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_SETTLED);
}
END_TEST

/* The kernel came back, and its call did not. */
START_TEST(a_kernel_without_its_call_is_counted_at_the_end)
{
	uint8_t *mem;
	size_t size, most;

	records_start("12.4");
	atomic_store(&tid, 4711);
	add_work(CONCURRENT_KERNEL, 1, 7);
	buffers_requested(&mem, &size, &most);
	ck_assert_ptr_nonnull(mem);
	memcpy(mem, buffer, filled);
	buffers_completed(NULL, 0, mem, size, filled);
	info->end = clock_ticks();
	cupti_sealed(info, true);
	ck_assert(!consumer_finish(0, true));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), 1);
}
END_TEST

/* Memory is touched ahead a buffer at a time: in between a window may end. */
START_TEST(a_round_makes_one_buffer_ready)
{
	unsigned n = 0;

	records_start("12.4");
	while (work_once() == 1)
		n++;
	ck_assert_uint_ge(n, 7);
}
END_TEST

/* Its parent's thread, questions and end are not its own. */
START_TEST(a_child_has_a_consumer_of_its_own)
{
	atomic_store(&tid, 4711);
	atomic_store(&flush_asked, 3);
	atomic_store(&flush_done, 2);
	atomic_store(&end_asked, 2);
	atomic_store(&end_done, 2);
	flush_at = flush_gap = 9;
	ended = true;
	ck_assert(round_take() && round_taken());
	consumer_fork_child();
	ck_assert(!consumer_ends() && !atomic_load(&tid));
	ck_assert_uint_eq(flush_asked + flush_done + end_done, 0);
	ck_assert_int_eq(flush_at + flush_gap, 0);
	ck_assert(!ended && !round_taken() && round_enter());
}
END_TEST

/* Wheels that were repaired have a hash in the names of their libraries. */
START_TEST(a_library_is_known_by_its_name)
{
	ck_assert(is_cupti("/a/libcupti.so.12") && is_cupti("libcupti-0a1b2c3d.so.12"));
	ck_assert(!is_cupti("/libcupti.so.12/libcuptiutil.so") &&
		  !is_cupti("libcuda.so.1"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cupti consumer");

	tcase_add_test(tc, who_asked_for_a_flush_is_woken);
	tcase_add_test(tc, flushes_come_ever_more_seldom);
	tcase_add_test(tc, a_flush_that_is_asked_for_is_due);
	tcase_add_test(tc, who_waits_waits_for_a_level);
	tcase_add_loop_test(tc, an_end_without_the_consumer_loses_nothing_unsaid, 0, 2);
	tcase_add_loop_test(tc, what_was_refused_a_buffer_is_said_to_be_missing, 0, 2);
	tcase_add_loop_test(tc, an_open_window_is_settled_at_the_end, 0, 2);
	tcase_add_test(tc, one_thread_takes_over);
	tcase_add_test(tc, a_gap_that_lasts_to_the_end_is_told);
	tcase_add_test(tc, what_came_back_is_read_the_first_time);
	tcase_add_test(tc, a_kernel_without_its_call_is_counted_at_the_end);
	tcase_add_test(tc, a_round_makes_one_buffer_ready);
	tcase_add_test(tc, a_child_has_a_consumer_of_its_own);
	tcase_add_test(tc, who_was_woken_just_before_does_not_sleep);
	tcase_add_test(tc, one_caller_too_many_is_not_kept);
	tcase_add_test(tc, a_library_is_known_by_its_name);
	return unit_run(tc, "cupti consumer");
}
