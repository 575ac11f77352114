/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer makes of heap records, one thing at a time. */
#include "agent/core/record_cuda.h"
#include "tests/unit/heap_image.h"

#include <math.h>

static struct spool_image *one_of_each(void)
{
	struct spool_image *m = heap_image(1000, 100000);
	uint32_t lib = image_module(m, "/opt/lib/libx.so.1");
	uint32_t a = image_call_stack(m, lib, 0x100, 3),
		 b = image_call_stack(m, lib, 0x110, 2);
	struct rec_heap *h;
	struct rec_memory *mem;
	struct rec_op *op;

	m->info->heap[HEAP_STACKS] = 4;
	m->info->heap[HEAP_CUT] = 1;
	image_step(m, 3, 1000, 40000);
	image_op(m, "aten::mm", 2000, 9000);
	image_alloc(m, HEAP_MALLOC, a, 0x5000, 1000, 3000);
	op = image_op(m, "aten::empty", 4000, 6000);
	image_alloc(m, HEAP_NEW_ARRAY, b, 0x6000, 3 << 20, 5000);
	mem = image_record(m, REC_MEMORY, sizeof(*mem), 0, 5500, 0);
	mem->bytes = 64;
	mem->allocated = 640;
	mem->reserved = 1024;
	mem->device_index = -1;
	mem = image_record(m, REC_MEMORY, sizeof(*mem), 0, 5600, 0);
	mem->bytes = mem->allocated = 512;
	mem->reserved = 2 << 20;
	mem->device_type = 1;
	image_alloc(m, HEAP_CALLOC, a, 0x7000, 500, 7000);
	image_release(m, 0x5000, 8000);
	image_release(m, 0xdead, 8500);
	op = image_op(m, "a loop", 41000, 90000);
	op->r.kind = REC_ANNOTATION;
	op->scope = 7;
	image_step(m, 4, 40001, 80000);
	image_alloc(m, HEAP_REALLOC, 0, 0x8000, 100, 42000);
	image_thread(m, 4300, 0, "server");
	image_alloc(m, HEAP_MALLOC, b, 0x9000, 2048, 50000);
	image_release(m, 0x6000, 60000);
	image_thread(m, 4400, 0, "proflaunch");
	image_counters(m, 1000, 50 << 20);
	h = image_counters(m, 90000, 60 << 20);
	h->live = 77; /* without HEAP_HAS_COUNTS: nobody looks */
	return m;
}

START_TEST(a_heap_is_the_golden_one)
{
	struct spool_image *m = one_of_each();

	image_write(m);
	heap_adds_up(m);
	image_golden(m, "one_of_each_heap.kineto.json");
	image_free(m);
}
END_TEST

START_TEST(the_other_dialect_is_the_golden_one)
{
	struct spool_image *m = one_of_each();

	m->config.dialect = DIALECT_TB043;
	image_write(m);
	image_golden(m, "one_of_each_heap.tb043.json");
	image_free(m);
}
END_TEST

START_TEST(the_keeper_has_no_row)
{
	struct spool_image *m = one_of_each();

	image_write(m);
	ck_assert_ptr_null(strstr(m->text, "thread 4400"));
	ck_assert_ptr_nonnull(strstr(m->text, "thread 4300 (server)"));
	ck_assert_uint_eq(m->result.events[REC_HEAP], 2);
	ck_assert_uint_eq(m->result.events[REC_ALLOC], 5);
	ck_assert_uint_eq(m->result.events[REC_FREE], 3);
	ck_assert_uint_eq(m->result.heap[HEAP_STACKS], 4);
	image_free(m);
}
END_TEST

START_TEST(without_heap_records_nothing_is_said)
{
	struct spool_image *m = heap_image(1000, 100000);

	m->config.malloc = MALLOC_OFF;
	image_op(m, "aten::mm", 2000, 9000);
	image_write(m);
	ck_assert_ptr_null(strstr(m->text, "\"heap\""));
	ck_assert_ptr_null(strstr(m->text, "\"ph\":\"C\""));
	image_free(m);
}
END_TEST

START_TEST(the_innermost_open_slice_is_in_flight)
{
	struct spool_image *m = heap_image(1000, 100000);
	struct rec_op *op;

	image_alloc(m, HEAP_MALLOC, 0, 0x10, 1, 1500);
	image_op(m, "outer", 2000, 9000);
	image_alloc(m, HEAP_MALLOC, 0, 0x20, 10, 2000);
	image_op(m, "inner", 3000, 5000);
	image_alloc(m, HEAP_MALLOC, 0, 0x30, 100, 4999);
	image_alloc(m, HEAP_MALLOC, 0, 0x40, 1000, 5000); /* the inner one is over */
	op = image_op(m, "ProfilerStep#7", 10000, 20000); /* no operator: a step */
	op->r.kind = REC_ANNOTATION;
	image_alloc(m, HEAP_MALLOC, 0, 0x50, 10000, 11000);
	image_op(m, "open", 30000, 0);
	image_alloc(m, HEAP_MALLOC, 0, 0x60, 7, 99999);
	/* Another thread is in no operator. */
	image_thread(m, 5, 0, "other");
	image_alloc(m, HEAP_MALLOC, 0, 0x70, 20000, 31000);
	image_write(m);
	ck_assert_int_eq(heap_site_of(m, "").bytes, 30001);
	ck_assert_int_eq(heap_site_of(m, "").allocs, 3);
	ck_assert_int_eq(heap_site_of(m, "outer").bytes, 1010);
	ck_assert_int_eq(heap_site_of(m, "inner").bytes, 100);
	ck_assert_int_eq(heap_site_of(m, "open").bytes, 7);
	image_free(m);
}
END_TEST

START_TEST(one_name_stored_twice_is_one_operator)
{
	struct spool_image *m = heap_image(1000, 100000);

	image_op(m, "aten::add", 2000, 3000);
	image_alloc(m, HEAP_MALLOC, 0, 0x10, 1, 2500);
	image_op(m, "aten::mul", 3000, 4000);
	m->last = NULL;
	image_record(m, REC_OP, sizeof(struct rec_op),
		     image_name(m, "aten::add", 9, "Tensor"), 5000, 6000);
	image_alloc(m, HEAP_MALLOC, 0, 0x20, 2, 5500);
	image_write(m);
	ck_assert_int_eq(heap_site_of(m, "aten::add").bytes, 3);
	image_free(m);
}
END_TEST

START_TEST(a_realloc_is_a_free_and_an_allocation)
{
	struct spool_image *m = heap_image(1000, 100000);

	image_alloc(m, HEAP_MALLOC, 0, 0x10, 100, 2000);
	/* Its free is written after it, but began before: here in another's middle. */
	image_alloc(m, HEAP_MALLOC, 0, 0x20, 10, 3100);
	image_release(m, 0x10, 3000)->flags = HEAP_REALLOC;
	image_alloc(m, HEAP_REALLOC, 0, 0x10, 250, 3200); /* in place */
	image_release(m, 0x10, 4000)->flags = HEAP_REALLOC;
	image_alloc(m, HEAP_REALLOC, 0, 0x30, 300, 4100); /* moved */
	image_write(m);
	heap_adds_up(m);
	ck_assert_int_eq(heap_total(m).allocs, 4);
	ck_assert_int_eq(heap_total(m).frees, 2);
	ck_assert_int_eq(heap_total(m).end, 310);
	ck_assert_int_eq(heap_total(m).blocks, 2);
	ck_assert_int_eq(heap_total(m).peak, 310);
	ck_assert_int_eq(heap_total(m).foreign, 0);
	ck_assert_ptr_null(strstr(m->text, "implied"));
	image_free(m);
}
END_TEST

START_TEST(an_address_is_free_before_it_is_somebody_elses)
{
	struct spool_image *m = heap_image(1000, 100000);

	/* Threads are read by number: the one that frees comes later, at the same tick.
	 */
	image_alloc(m, HEAP_MALLOC, 0, 0x20, 7, 5000);
	image_alloc(m, HEAP_MALLOC, 0, 0x10, 100, 6000);
	image_thread(m, 5000, 0, "other");
	image_alloc(m, HEAP_NEW, 0, 0x10, 50, 4000);
	image_release(m, 0x10, 6000);
	image_release(m, 0x20, 7000); /* not its own */
	image_write(m);
	heap_adds_up(m);
	ck_assert_ptr_null(strstr(m->text, "implied"));
	ck_assert_int_eq(heap_total(m).frees, 2);
	ck_assert_int_eq(heap_total(m).foreign, 0);
	ck_assert_int_eq(heap_total(m).end, 100);
	ck_assert_int_eq(heap_total(m).peak, 107);
	image_free(m);
}
END_TEST

START_TEST(what_lies_outside_of_the_window_does_not_count)
{
	struct spool_image *m = heap_image(1000, 100000);

	image_release(m, 0x99, 900); /* a realloc was under way */
	image_alloc(m, HEAP_MALLOC, 0, 0x10, 100, 900);
	image_alloc(m, HEAP_MALLOC, 0, 0x20, 10, 1000);
	image_release(m, 0x10, 50000);
	image_alloc(m, HEAP_MALLOC, 0, 0x30, 1000, 99999);
	image_release(m, 0x20, 100000);
	image_write(m);
	ck_assert_int_eq(heap_total(m).allocs, 2);
	ck_assert_int_eq(heap_total(m).bytes, 1010);
	ck_assert_int_eq(heap_total(m).frees, 0);
	ck_assert_int_eq(heap_total(m).foreign, 1);
	ck_assert_uint_eq(m->result.events[REC_ALLOC], 2);
	ck_assert_uint_eq(m->result.drops[REC_FREE], 1);
	image_free(m);
}
END_TEST

START_TEST(lost_records_leave_sums_that_add_up)
{
	struct spool_image *m = heap_image(1000, 100000);

	image_alloc(m, HEAP_MALLOC, 0, 0x10, 100, 2000);
	image_alloc(m, HEAP_MALLOC, 0, 0x10, 30, 3000); /* the free between was lost */
	image_release(m, 0x40, 4000); /* and this one's allocation */
	m->info->drops[REC_FREE] = m->info->drops[REC_ALLOC] = 1;
	m->info->whys[DROP_CAP] = 2;
	image_write(m);
	heap_adds_up(m);
	ck_assert_int_eq(heap_total(m).end, 30);
	ck_assert_int_eq(heap_total(m).foreign, 1);
	ck_assert_int_eq(heap_number(heap_object(m), "\"implied_frees\": "), 1);
	ck_assert_ptr_nonnull(strstr(m->text, "\"drops\": {\"heap_allocations\": 1, "
					      "\"heap_frees\": 1}"));
	image_free(m);
}
END_TEST

START_TEST(a_sample_stands_for_many)
{
	struct spool_image *m = heap_image(1000, 100000);
	const uint64_t sizes[] = { 1, 100, 10000, 524288, 3000000, 100000000 };
	double count = 0, bytes = 0;
	struct total all;

	m->config.malloc = MALLOC_SAMPLE;
	for (unsigned i = 0; i < 6; i++) {
		double p = -expm1(-(double)sizes[i] / 524288);

		image_alloc(m, HEAP_MALLOC, 0, 0x10 + i, sizes[i], 2000 + i)->r.flags |=
			HEAP_SAMPLED;
		count += 1 / p;
		bytes += (double)sizes[i] / p;
	}
	image_alloc(m, HEAP_MALLOC, 0, 0x90, 0, 2900); /* stands for itself */
	image_release(m, 0x11, 3000)->flags |= HEAP_SAMPLED;
	image_write(m);
	heap_adds_up(m);
	all = heap_total(m);
	ck_assert_double_le(fabs((double)all.allocs - count - 1), 1);
	ck_assert_double_le(fabs((double)all.bytes - bytes), 6);
	ck_assert_int_eq(all.freed, (int64_t)(100 / -expm1(-100.0 / 524288) + 0.5));
	ck_assert_int_eq(all.frees, (int64_t)(1 / -expm1(-100.0 / 524288) + 0.5));
	ck_assert_int_eq(heap_number(heap_object(m), "\"sample_bytes\": "), 524288);
	ck_assert_ptr_nonnull(strstr(heap_object(m), "\"weighted\": true"));
	image_free(m);
}
END_TEST

/* One site has the 1,000 largest blocks, 150 sites have ten small ones each. */
START_TEST(the_largest_sites_are_shown)
{
	struct spool_image *m = heap_image(1000, 100000000);
	uint32_t lib = image_module(m, "/lib/a.so"),
		 large = image_call_stack(m, lib, 0x10, 2);
	unsigned n = 0, of[150] = { 0 }, flags = _i == MALLOC_SAMPLE ? HEAP_SAMPLED : 0;

	m->config.malloc = (unsigned)_i;
	for (unsigned i = 0; i < 2000; i++)
		image_alloc(m, HEAP_NEW, large, 0x1000 + i, 5000, 2000 + i)->r.flags |=
			flags;
	for (unsigned i = 0; i < 150; i++) {
		uint32_t stack = image_call_stack(m, lib, 0x1000 + 16 * i, 2);

		for (unsigned k = 0; k < 10; k++)
			image_alloc(m, HEAP_MALLOC, stack, 0x9000 + 10 * i + k,
				    100 + 3 * i + (k == 5), 5000 + 10 * i + k)
				->r.flags |= flags;
	}
	image_write(m);
	for (const char *at = m->text;
	     (at = heap_after(at, "\"cat\":\"heap\",\"s\":\"t\"", 0)); n++) {
		int64_t bytes = heap_number(at, "\"bytes\":");

		if (bytes == 5000)
			continue;
		ck_assert_int_eq(bytes % 3, 2); /* a site's largest */
		of[(bytes - 101) / 3]++;
	}
	ck_assert_uint_eq(n, 1000 + 99);
	for (unsigned i = 0; i < 150; i++)
		ck_assert_uint_eq(of[i], i >= 51);
	image_free(m);
}
END_TEST

static void put_counters(struct spool_image *m, uint64_t ticks, int64_t live,
			 uint64_t allocs)
{
	struct rec_heap *h = image_counters(m, ticks, 1 << 20);

	h->r.flags |= HEAP_HAS_COUNTS;
	h->live = live;
	h->allocs = allocs;
	h->frees = allocs - 5;
	h->allocated = 1000 * allocs;
}

static struct spool_image *counted(bool since_start)
{
	struct spool_image *m = heap_image(0, 1000000000);

	m->config.malloc = MALLOC_COUNT;
	m->config.malloc_since = since_start;
	image_step(m, 1, 0, 500000000);
	image_step(m, 2, 500000000, 1000000000);
	image_thread(m, 5, 0, "proflaunch");
	put_counters(m, 0, 10000, 10);
	put_counters(m, 300000000, 70000, 3010);
	put_counters(m, 600000000, -40000, 4010);
	return m;
}

START_TEST(counters_count_from_the_windows_begin)
{
	struct spool_image *m = counted(false);
	int64_t most, last;

	image_write(m);
	heap_adds_up(m);
	ck_assert_int_eq(heap_total(m).allocs, 4010);
	ck_assert_int_eq(heap_total(m).frees, 4005);
	ck_assert_int_eq(heap_total(m).bytes, 4010000);
	/* More than was allocated in the window can be freed in it. */
	ck_assert_int_eq(heap_total(m).end, -40000);
	ck_assert_int_eq(heap_total(m).peak, 70000);
	ck_assert_int_eq(heap_other(m).steps[0], 70000);
	ck_assert_int_eq(heap_other(m).steps[1], -40000);
	ck_assert_uint_eq(heap_site_count(m), 0);
	ck_assert_uint_ge(heap_track(m, "Heap", &most, &last), 3);
	ck_assert_int_eq(most, 70000);
	ck_assert_int_eq(last, -40000);
	/* 3000 calls in 300 ms */
	ck_assert_uint_ge(heap_track(m, "Heap calls", &most, &last), 2);
	ck_assert_int_eq(most, 10033);
	ck_assert_int_eq(last, 0);
	image_free(m);
}
END_TEST

START_TEST(or_from_the_programs_start)
{
	struct spool_image *m = counted(true);

	image_write(m);
	ck_assert_ptr_nonnull(strstr(heap_object(m), "\"since\": \"start\""));
	ck_assert_int_eq(heap_total(m).end, -40000);
	ck_assert_int_eq(heap_total(m).peak, 70000);
	ck_assert_int_eq(heap_other(m).live, -40000);
	ck_assert_int_eq(heap_other(m).steps[0], 70000);
	ck_assert_int_eq(heap_total(m).allocs, 4000);
	/* 10 - 5 when the window began, and as many as that at its end */
	ck_assert_int_eq(heap_total(m).blocks, 5);
	ck_assert_int_eq(heap_other(m).blocks, 5);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap");

	tcase_add_test(tc, a_heap_is_the_golden_one);
	tcase_add_test(tc, the_other_dialect_is_the_golden_one);
	tcase_add_test(tc, the_keeper_has_no_row);
	tcase_add_test(tc, without_heap_records_nothing_is_said);
	tcase_add_test(tc, the_innermost_open_slice_is_in_flight);
	tcase_add_test(tc, one_name_stored_twice_is_one_operator);
	tcase_add_test(tc, a_realloc_is_a_free_and_an_allocation);
	tcase_add_test(tc, an_address_is_free_before_it_is_somebody_elses);
	tcase_add_test(tc, what_lies_outside_of_the_window_does_not_count);
	tcase_add_test(tc, lost_records_leave_sums_that_add_up);
	tcase_add_test(tc, a_sample_stands_for_many);
	tcase_add_loop_test(tc, the_largest_sites_are_shown, MALLOC_SAMPLE,
			    MALLOC_ALL + 1);
	tcase_add_test(tc, counters_count_from_the_windows_begin);
	tcase_add_test(tc, or_from_the_programs_start);
	return unit_run(tc, "writer heap");
}
