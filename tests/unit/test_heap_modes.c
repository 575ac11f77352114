/* SPDX-License-Identifier: Apache-2.0 */
/* What windows, forks and first samples make of the heap's mode and of its counters. */
#include "tests/unit/heap_bench.h"

#if HEAP_HOOKS

static uint64_t counted(unsigned what)
{
	uint64_t sum[SPOOL_COUNTERS];

	heap_sum(sum);
	return sum[what];
}

START_TEST(a_window_counts_from_its_begin)
{
	struct cycle_info *info = heap_window(HEAP_COUNT);

	hook_test_free(hook_test_malloc(10));
	gate_set(0, 0);
	heap_ended(info, true);
	ck_assert_int_eq(heap_mode(), HEAP_IDLE);
	hook_test_free(hook_test_malloc(10));
	info = heap_begin_window(2);
	ck_assert_uint_eq(info->heap_base[COUNT_ALLOCS], 1);
	ck_assert_uint_eq(info->heap_base[COUNT_FREES], 1);
	hook_test_malloc(10);
	heap_mark();
	ck_assert_uint_eq(((const struct rec_heap *)heap_record(REC_HEAP, -1, 0))->allocs,
			  1);
}
END_TEST

START_TEST(since_start_all_of_it_is_counted)
{
	struct cycle_info *info;

	heap_prepare(HEAP_COUNT);
	heap_config.malloc_since = 1;
	heap_start(&heap_config, 1);
	ck_assert_int_eq(heap_mode(), HEAP_COUNT);
	hook_test_free(hook_test_malloc(10));
	info = heap_begin_window(1);
	ck_assert_uint_eq(info->heap_base[COUNT_ALLOCS], 0);
	gate_set(0, 0);
	heap_ended(info, true);
	ck_assert_int_eq(heap_mode(), HEAP_COUNT);
	hook_test_free(hook_test_malloc(10));
	ck_assert_uint_eq(counted(COUNT_ALLOCS), 2);
}
END_TEST

START_TEST(a_window_that_follows_at_once_goes_on)
{
	struct cycle_info *info = heap_window(HEAP_ALL);

	heap_begin_window(2);
	heap_ended(info, true);
	ck_assert_int_eq(heap_mode(), HEAP_ALL);
	hook_test_malloc(10);
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 1);
}
END_TEST

/* Without a spool there is no room for a thread's own counters: these are nobody's. */
static void count_of_nobody(unsigned n)
{
	if (thread_start())
		abort();
	for (unsigned i = 0; i < n; i++)
		heap_count(COUNT_ALLOCS, 100);
}

START_TEST(what_is_nobodys_is_in_the_sum)
{
	count_of_nobody(5);
	ck_assert_uint_eq(counted(COUNT_ALLOCS), 5);
	ck_assert_uint_eq(counted(COUNT_ALLOCATED), 500);
}
END_TEST

START_TEST(a_child_counts_from_nothing)
{
	const struct rec_heap *r;
	struct cycle_info *info;

	count_of_nobody(5);
	info = heap_window(HEAP_COUNT);
	ck_assert_uint_eq(info->heap_base[COUNT_ALLOCS], 5);
	heap_fork_child(false);
	ck_assert_uint_eq(counted(COUNT_ALLOCS), 0);
	heap_mark();
	r = (const struct rec_heap *)heap_record(REC_HEAP, -1, 0);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(r->allocs, 0);
	ck_assert_int_eq(r->live, 0);
}
END_TEST

START_TEST(the_resident_size_is_in_bytes)
{
	const struct rec_heap *r;
	unsigned long all, resident = 0, shared = 0;
	FILE *f;

	heap_window(HEAP_COUNT);
	heap_tick();
	f = fopen("/proc/self/statm", "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%lu %lu %lu", &all, &resident, &shared), 3);
	fclose(f);
	r = (const struct rec_heap *)heap_record(REC_HEAP, -1, 0);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_gt(r->rss, resident * 4096 / 2);
	ck_assert_uint_lt(r->rss, resident * 4096 * 2);
	ck_assert_uint_gt(r->r.end, (resident - shared) * 4096 / 2);
	ck_assert_uint_lt(r->r.end, r->rss);
}
END_TEST

static uintptr_t guard_of_first;
static unsigned firsts;

static void first(void)
{
	firsts++;
	guard_of_first = guard_word;
}

/* heap_enter has said that this call is the program's; what opens a window is ours. */
START_TEST(a_first_sample_opens_a_window_within_its_call)
{
	uintptr_t guard = HEAP_FRAME;

	heap_prepare(HEAP_SAMPLE);
	heap_start(&heap_config, 1);
	heap_first = first;
	ck_assert(heap_doze());
	ck_assert_int_eq(heap_mode(), HEAP_SAMPLE);
	guard_word = guard;
	ck_assert(heap_sampled_now(1 << 20));
	ck_assert_uint_eq(guard_word, guard);
	ck_assert_uint_eq(guard_of_first, GUARD_OURS);
	ck_assert(heap_sampled_now(1 << 20));
	ck_assert_uint_eq(firsts, 1);
	guard_word = 0;
}
END_TEST

START_TEST(a_childs_first_call_wakes_it_once)
{
	heap_window(HEAP_ALL);
	gate_set(0, 0);
	heap_first = first;
	heap_fork_child(true);
	ck_assert_int_eq(heap_mode(), HEAP_ASLEEP);
	hook_test_free(hook_test_malloc(10));
	ck_assert_uint_eq(firsts, 1);
	ck_assert_uint_eq(guard_of_first, GUARD_OURS);
	ck_assert_uint_eq(guard_word, 0);
	ck_assert_int_eq(heap_mode(), HEAP_IDLE);
}
END_TEST

static unsigned asked;
static size_t (*asked_of)(void *);

/* As glibc's header says, ten times; then an allocator of another kind. */
static size_t ten_times_right(void *p)
{
	return asked_of(p) + (++asked > 10 ? 16 : 0);
}

START_TEST(ten_blocks_are_no_proof)
{
	uint64_t before;

	heap_window(HEAP_COUNT);
	asked_of = heap_real.malloc_usable_size;
	heap_real.malloc_usable_size = ten_times_right;
	heap_sizes_try();
	for (unsigned i = 0; i < 20; i++)
		hook_test_malloc(100);
	before = counted(COUNT_ALLOCATED);
	hook_test_malloc(100);
	ck_assert_uint_eq(counted(COUNT_ALLOCATED) - before,
			  asked_of(hook_test_malloc(100)) + 16);
}
END_TEST

/* torch has come: its operators say when a window opens. */
START_TEST(no_sample_wakes_who_is_not_to_doze)
{
	heap_window(HEAP_SAMPLE);
	heap_undoze();
	ck_assert_int_eq(heap_mode(), HEAP_SAMPLE);
	gate_set(0, 0);
	heap_first = first;
	ck_assert(heap_doze());
	heap_undoze();
	ck_assert_int_eq(heap_mode(), HEAP_IDLE);
	hook_test_free(hook_test_malloc(1 << 20));
	ck_assert_uint_eq(firsts, 0);
}
END_TEST

START_TEST(a_doze_begins_without_samples)
{
	void *p;

	heap_window(HEAP_SAMPLE);
	p = hook_test_malloc(1 << 20);
	ck_assert(heap_maybe_sampled(p));
	gate_set(0, 0);
	ck_assert(heap_doze());
	ck_assert(!heap_maybe_sampled(p));
}
END_TEST

static uint32_t other_stack(struct thread *t, uint32_t native)
{
	ck_assert_ptr_eq(t, thread_mine);
	ck_assert_uint_eq(native, 0); /* native_stacks is off */
	return 77;
}

/* Of what is recorded, with native stacks or without. */
START_TEST(another_walker_is_asked_for_each_allocation)
{
	void *p = NULL;

	heap_prepare(_i ? HEAP_SAMPLE : HEAP_ALL);
	heap_start(&heap_config, 1);
	heap_also_walk(other_stack);
	heap_begin_window(1);
	for (unsigned i = 0; i < 5; i++)
		p = hook_test_realloc(p, (i + 1) << 20);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(heap_record(REC_ALLOC, -1, i)->name, 77);
}
END_TEST

START_TEST(counters_have_no_stacks)
{
	heap_prepare(HEAP_COUNT);
	heap_start(&heap_config, 1);
	heap_also_walk(other_stack);
	ck_assert(!heap_settings.walks);
}
END_TEST

START_TEST(what_lives_is_what_was_not_freed)
{
	const struct rec_heap *r;
	void *p;

	heap_window(HEAP_COUNT);
	hook_test_free(hook_test_malloc(5000));
	p = hook_test_malloc(100);
	heap_mark();
	r = (const struct rec_heap *)heap_record(REC_HEAP, -1, 0);
	ck_assert_uint_eq(r->live, hook_test_malloc_usable_size(p));
}
END_TEST

START_TEST(nothing_has_no_size)
{
	heap_window(HEAP_ALL);
	*(void **)&heap_real.malloc_usable_size = (void *)abort;
	ck_assert_uint_eq(hook_test_malloc_usable_size(NULL), 0);
}
END_TEST

START_TEST(of_calls_that_are_recorded_a_sample_is_timed)
{
	struct cycle_info *info = heap_window(HEAP_ALL);

	for (unsigned i = 0; i < 20000; i++)
		hook_test_free(hook_test_malloc(24));
	ck_assert_uint_gt(info->cost[COST_ALLOC].samples, 20000 / COST_EVERY / 2);
	ck_assert_uint_lt(info->cost[COST_ALLOC].samples, 20000 / COST_EVERY * 2);
	ck_assert_uint_gt(info->cost[COST_FREE].samples, 20000 / COST_EVERY / 2);
	ck_assert_uint_gt(info->cost[COST_ALLOC].ticks, 0);
	ck_assert_uint_eq(info->cost[COST_PASS].samples, 0);
}
END_TEST

START_TEST(each_block_that_is_a_sample_is_timed)
{
	struct cycle_info *info = heap_window(HEAP_SAMPLE);

	ck_assert_uint_gt(info->cost[COST_PASS].samples, 0);
	ck_assert_uint_gt(info->cost[COST_PASS].ticks, 0);
	for (unsigned i = 0; i < 2000; i++)
		hook_test_free(hook_test_malloc(1000));
	ck_assert_uint_ge(info->cost[COST_SAMPLE].samples,
			  heap_records(REC_ALLOC, -1) + heap_records(REC_FREE, -1));
	ck_assert_uint_eq(info->cost[COST_ALLOC].samples, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap modes");

	tcase_add_test(tc, a_window_counts_from_its_begin);
	tcase_add_test(tc, since_start_all_of_it_is_counted);
	tcase_add_test(tc, a_window_that_follows_at_once_goes_on);
	tcase_add_test(tc, what_is_nobodys_is_in_the_sum);
	tcase_add_test(tc, a_child_counts_from_nothing);
	tcase_add_test(tc, the_resident_size_is_in_bytes);
	tcase_add_test(tc, a_first_sample_opens_a_window_within_its_call);
	tcase_add_test(tc, a_childs_first_call_wakes_it_once);
	tcase_add_test(tc, ten_blocks_are_no_proof);
	tcase_add_test(tc, no_sample_wakes_who_is_not_to_doze);
	tcase_add_test(tc, a_doze_begins_without_samples);
	tcase_add_loop_test(tc, another_walker_is_asked_for_each_allocation, 0, 2);
	tcase_add_test(tc, counters_have_no_stacks);
	tcase_add_test(tc, what_lives_is_what_was_not_freed);
	tcase_add_test(tc, nothing_has_no_size);
	tcase_add_test(tc, of_calls_that_are_recorded_a_sample_is_timed);
	tcase_add_test(tc, each_block_that_is_a_sample_is_timed);
	return unit_run(tc, "heap_modes");
}

#else

int main(void)
{
	puts("not under a sanitizer: it brings its own malloc, so there are no hooks");
	return 77;
}

#endif
