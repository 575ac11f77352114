/* SPDX-License-Identifier: Apache-2.0 */
/* Windows and what ends them, with the test as the consumer. */
#include "tests/unit/cupti_records.h"

static struct window *window(void)
{
	return windows_get(1);
}

START_TEST(the_end_is_the_next_windows)
{
	records_start("13.0");
	window()->end = begin_ns() + 100;
	ck_assert_ptr_eq(windows_at(begin_ns() + 99), window());
	ck_assert_ptr_null(windows_at(begin_ns() + 100));
	ck_assert_ptr_eq(windows_at(begin_ns()), window());
	ck_assert_ptr_null(windows_at(begin_ns() - 1));
}
END_TEST

START_TEST(a_gap_counts_as_far_as_it_is_inside)
{
	records_start("13.0");
	window()->begin = 1000;
	window()->end = 5000;
	windows_gap(500, 1000);
	windows_gap(5000, 6000);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 0);
	windows_gap(500, 2000);
	windows_gap(4500, 9000);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 2);
	ck_assert_uint_eq(bench_count(info, CUDA_GAP_NS), 1500);
}
END_TEST

/* Ids of calls count up, and wrap: between its first and its last one. */
START_TEST(a_gap_in_pieces_is_one)
{
	uint64_t from;

	records_start("13.0");
	from = begin_ns();
	windows_gap(from - 50, from + 100);
	windows_gap(from + 100, from + 250);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_GAP_NS), 250);
	windows_gap(from + 300, from + 310);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 2);
	ck_assert_uint_eq(bench_count(info, CUDA_GAP_NS), 260);
}
END_TEST

START_TEST(work_belongs_between_a_windows_calls)
{
	static const struct {
		uint32_t first, last, id;
		bool inside;
	} rows[] = {
		{ 10, 20, 9, false },        { 10, 20, 10, true },
		{ 10, 20, 15, true },        { 10, 20, 20, true },
		{ 10, 20, 21, false },       { 0xfffffff0, 5, 0xffffffef, false },
		{ 0xfffffff0, 5, 2, true },  { 0xfffffff0, 5, 0xfffffff0, true },
		{ 0xfffffff0, 5, 6, false },
	};

	records_start("13.0");
	ck_assert_ptr_null(windows_around(15)); /* it has no calls */
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		window()->called = true;
		window()->first_call = rows[i].first;
		window()->last_call = rows[i].last;
		ck_assert_ptr_eq(windows_around(rows[i].id),
				 rows[i].inside ? window() : NULL);
	}
}
END_TEST

static void seal(void)
{
	info->end = clock_ticks();
	cupti_sealed(info, true);
	windows_collect();
}

/* A flush that began before the seal brings not all of it. */
START_TEST(a_flush_from_before_the_end_is_not_enough)
{
	records_start("13.0");
	windows_flush();
	seal();
	windows_flushed();
	windows_settle(false, correlation_waits);
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_PENDING);
	windows_flush();
	windows_flushed();
	windows_settle(false, correlation_waits);
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_SETTLED);
}
END_TEST

START_TEST(work_that_never_came_is_counted)
{
	records_start("13.0");
	correlation_call(7, window(), true);
	correlation_call(8, window(), true);
	seal();
	windows_settle(true, correlation_waits);
	ck_assert_uint_eq(bench_count(info, CUDA_MISSING), 2);
}
END_TEST

/* The consumer is stuck: there is room for an end wherever there was for a begin. */
START_TEST(windows_that_find_no_room_are_settled)
{
	static struct cycle_info all[1500];
	unsigned crowded = 0;

	records_start("13.0");
	for (unsigned i = 0; i < 1500; i++) {
		all[i].number = i + 2;
		all[i].begin = all[i].end = clock_ticks();
		cupti_opened(&all[i]);
		cupti_sealed(&all[i], true);
	}
	windows_collect();
	windows_settle(true, correlation_waits);
	for (unsigned i = 0; i < 1500; i++) {
		ck_assert_uint_eq(atomic_load(&all[i].cuda_state), CUDA_SETTLED);
		crowded += (unsigned)bench_count(&all[i], CUDA_CROWDED);
		ck_assert_uint_eq(bench_count(&all[i], CUDA_GAPS), 0);
	}
	ck_assert_uint_gt(crowded, 900);
}
END_TEST

/* Work runs on behind its window: that is not waited for for ever, and told. */
START_TEST(a_window_that_is_given_up_is_counted)
{
	size_t size, most;
	uint8_t *mem;

	records_start("13.0");
	buffers_requested(&mem, &size, &most);
	store(mem, 1, 4); /* a record begins there */
	seal();
	windows_flush();
	windows_flushed();
	windows_settle(false, correlation_waits);
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_PENDING);
	windows_get(1)->sealed_at -= 31000000000ll;
	windows_settle(false, correlation_waits);
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_SETTLED);
	ck_assert_uint_eq(bench_count(info, CUDA_UNFETCHED), 1);
}
END_TEST

/* CUPTI has a buffer with the calls of all: it gives none back, and the 257th window
 * takes the place of the first. */
START_TEST(the_window_that_has_to_go_is_counted)
{
	static struct cycle_info all[WINDOWS_MOST + 2];
	size_t size, most;
	uint8_t *mem;

	records_start("13.0");
	buffers_requested(&mem, &size, &most);
	store(mem, 1, 4); /* a record begins there */
	for (unsigned i = 0; i < WINDOWS_MOST + 2; i++) {
		all[i].number = i + 2;
		all[i].begin = all[i].end = clock_ticks();
		cupti_opened(&all[i]);
		cupti_sealed(&all[i], true);
		windows_collect();
	}
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_uint_eq(bench_count(&all[i], CUDA_CROWDED), i < 2);
		ck_assert_uint_eq(bench_count(&all[i], CUDA_UNFETCHED), 0);
	}
}
END_TEST

/* Its kernels run still, in no buffer of ours. */
START_TEST(the_window_that_has_to_go_lacks_kernels)
{
	static struct cycle_info all[WINDOWS_MOST + 1];

	records_start("13.0");
	for (unsigned i = 0; i < WINDOWS_MOST + 1; i++) {
		all[i].number = i + 2;
		all[i].begin = all[i].end = clock_ticks();
		cupti_opened(&all[i]);
		cupti_sealed(&all[i], true);
		windows_collect();
		if (!i)
			correlation_call(7, windows_get(2), true);
	}
	ck_assert_uint_eq(bench_count(&all[0], CUDA_CROWDED), 1);
	ck_assert_uint_eq(bench_count(&all[0], CUDA_MISSING), 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("windows");

	tcase_add_test(tc, the_end_is_the_next_windows);
	tcase_add_test(tc, a_gap_counts_as_far_as_it_is_inside);
	tcase_add_test(tc, a_gap_in_pieces_is_one);
	tcase_add_test(tc, work_belongs_between_a_windows_calls);
	tcase_add_test(tc, a_flush_from_before_the_end_is_not_enough);
	tcase_add_test(tc, work_that_never_came_is_counted);
	tcase_add_test(tc, windows_that_find_no_room_are_settled);
	tcase_add_test(tc, a_window_that_is_given_up_is_counted);
	tcase_add_test(tc, the_window_that_has_to_go_is_counted);
	tcase_add_test(tc, the_window_that_has_to_go_lacks_kernels);
	return unit_run(tc, "cupti, windows");
}
