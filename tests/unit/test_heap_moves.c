/* SPDX-License-Identifier: Apache-2.0 */
/* realloc, which frees and allocates in one call; what is lost, and is counted; which
 * calls are samples. */
#include "tests/unit/heap_bench.h"

#include <pthread.h>

#if HEAP_HOOKS

#define TOO_MUCH ((size_t)1 << 62)

/* ---- realloc ---- */

static void *(*real_realloc)(void *, size_t);
static void *address; /* that another thread is given */
static uint64_t given; /* when */

static void *takes_the_address(void *old)
{
	address = old;
	given = clock_ticks();
	return NULL;
}

/* Between the old block's end and realloc's return another thread allocates. */
static void *move_and_let_another_in(void *p, size_t size)
{
	void *moved = real_realloc(p, size);
	pthread_t t;

	if (pthread_create(&t, NULL, takes_the_address, p) || pthread_join(t, NULL))
		abort();
	return moved;
}

START_TEST(a_moved_block_is_freed_before_another_thread_may_have_its_address)
{
	const struct record *freed, *made;
	void *p;

	heap_window(HEAP_ALL);
	real_realloc = heap_real.realloc;
	heap_real.realloc = move_and_let_another_in;
	p = hook_test_malloc(10);
	p = hook_test_realloc(p, 100000);
	freed = heap_record(REC_FREE, HEAP_REALLOC, 0);
	made = heap_record(REC_ALLOC, HEAP_REALLOC, 0);
	ck_assert_ptr_nonnull(freed);
	ck_assert_uint_eq(freed->end, (uintptr_t)address);
	ck_assert_uint_lt(freed->begin, given);
	ck_assert_ptr_nonnull(made);
	ck_assert_uint_eq(made->end, (uintptr_t)p);
	ck_assert_uint_ge(made->begin, given);
}
END_TEST

START_TEST(a_realloc_that_fails_frees_nothing)
{
	void *p;

	heap_window(HEAP_ALL);
	p = hook_test_malloc(10);
	ck_assert_ptr_null(hook_test_realloc(p, TOO_MUCH));
	ck_assert_uint_eq(heap_records(REC_FREE, -1), 0);
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 1);
	ck_assert_uint_eq(guard_word, 0);
}
END_TEST

START_TEST(a_realloc_to_nothing_is_a_free)
{
	void *p;

	heap_window(HEAP_ALL);
	p = hook_test_malloc(10);
	ck_assert_ptr_null(hook_test_realloc(p, 0));
	ck_assert_uint_eq(heap_records(REC_FREE, HEAP_FREE), 1);
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 1);
}
END_TEST

/* The old block went when no window was open yet. */
START_TEST(a_realloc_that_began_before_the_window_frees_nothing_in_it)
{
	struct heap_move m;
	char old, new;

	heap_window(HEAP_ALL);
	atomic_store(&heap_real.mode, HEAP_IDLE);
	heap_move_begins(&m, HEAP_FRAME, &old, 10);
	atomic_store(&heap_real.mode, HEAP_ALL);
	heap_moved(&m, &new, 10);
	ck_assert_uint_eq(heap_records(REC_FREE, -1), 0);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_REALLOC), 1);
}
END_TEST

START_TEST(a_sample_that_could_not_be_moved_is_one_still)
{
	void *p;

	heap_window(HEAP_SAMPLE);
	p = hook_test_malloc(1 << 20); /* 256 times the mean gap */
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC | HEAP_SAMPLED), 1);
	ck_assert_ptr_null(hook_test_realloc(p, TOO_MUCH));
	ck_assert_uint_eq(heap_records(REC_FREE, -1), 0);
	hook_test_free(p);
	ck_assert_uint_eq(heap_records(REC_FREE, HEAP_FREE | HEAP_SAMPLED), 1);
}
END_TEST

/* ---- what is lost ---- */

/* What our observers call may allocate: that is no call of the program's. */
START_TEST(what_an_observer_allocates_is_not_lost)
{
	struct cycle_info *info = heap_window(HEAP_ALL);
	void *before = hook_test_malloc(10), *p;
	struct thread *t = emit_enter(REC_OP);

	ck_assert_ptr_nonnull(t);
	p = hook_test_realloc(hook_test_malloc(10), 1000);
	hook_test_free(hook_test_calloc(2, 10));
	hook_test_free(p);
	emit_leave(t);
	ck_assert_uint_eq(atomic_load(&info->whys[DROP_NESTED]), 0);
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 1);
	ck_assert_uint_eq(heap_records(REC_FREE, -1), 0);
	hook_test_free(before);
	ck_assert_uint_eq(heap_records(REC_FREE, -1), 1);
}
END_TEST

/* The record is made, the real function is still at it: a handler's calls cannot be told
 * from its own, and none is lost. */
START_TEST(what_comes_within_a_free_is_part_of_it)
{
	struct cycle_info *info = heap_window(HEAP_ALL);
	void *p = hook_test_malloc(10);
	uintptr_t frame = HEAP_FRAME + 64;

	ck_assert(heap_gone(frame, HEAP_DELETE, p));
	ck_assert_uint_eq(guard_word, frame);
	hook_test_free(hook_test_malloc(5));
	ck_assert_uint_eq(guard_word, frame | GUARD_NESTED);
	heap_leave();
	ck_assert_uint_eq(atomic_load(&info->whys[DROP_NESTED]), 0);
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 1);
	ck_assert_uint_eq(heap_records(REC_FREE, -1), 1);
}
END_TEST

/* A signal handler's calls in the middle of a record of ours. */
START_TEST(what_a_handler_does_within_a_record_is_counted_as_lost)
{
	struct cycle_info *info = heap_window(HEAP_ALL);
	void *p = hook_test_malloc(10);
	uintptr_t guard = (HEAP_FRAME + 64) | GUARD_EMITS;

	guard_word = guard;
	p = hook_test_realloc(p, 100);
	ck_assert_uint_eq(guard_word, guard | GUARD_NESTED);
	ck_assert_uint_eq(atomic_load(&info->drops[REC_ALLOC]), 1);
	ck_assert_uint_eq(atomic_load(&info->drops[REC_FREE]), 1);
	guard_word = guard;
	hook_test_free(p);
	hook_test_free(hook_test_malloc(1));
	ck_assert_uint_eq(atomic_load(&info->drops[REC_ALLOC]), 2);
	ck_assert_uint_eq(atomic_load(&info->drops[REC_FREE]), 3);
	ck_assert_uint_eq(atomic_load(&info->whys[DROP_NESTED]), 5);
	guard_word = 0;
	ck_assert_uint_eq(heap_records(REC_FREE, -1), 0);
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 1);
}
END_TEST

START_TEST(samples_without_room_are_counted_as_lost)
{
	struct cycle_info *info = heap_window(HEAP_SAMPLE);

	for (uintptr_t i = 1; i < 3000000; i++) /* ten times what there is room for */
		heap_samples_add((void *)(i << 8));
	for (unsigned i = 0; i < 10; i++)
		hook_test_free(hook_test_malloc(1 << 20));
	ck_assert_uint_ge(atomic_load(&info->whys[DROP_CAP]), 9);
	ck_assert_uint_ge(atomic_load(&info->drops[REC_ALLOC]), 9);
}
END_TEST

/* ---- which calls ---- */

START_TEST(a_threads_first_small_block_is_seldom_a_sample)
{
	unsigned samples = 0;

	heap_window(HEAP_SAMPLE);
	for (unsigned i = 0; i < 1000; i++) { /* as many threads */
		heap_gap = (struct heap_gap){ 0 };
		samples += heap_sampled_now(8);
	}
	ck_assert_uint_lt(samples, 20); /* two are to be expected */
}
END_TEST

START_TEST(each_thread_has_gaps_of_its_own)
{
	uint64_t first;

	heap_window(HEAP_SAMPLE);
	heap_gap = (struct heap_gap){ 0 };
	heap_sampled_now(1);
	first = heap_gap.random;
	heap_gap = (struct heap_gap){ 0 };
	heap_sampled_now(1);
	ck_assert_uint_ne(heap_gap.random, first);
}
END_TEST

START_TEST(a_handler_loses_nothing_where_nothing_is_recorded)
{
	struct cycle_info *info = heap_window(HEAP_SAMPLE);

	guard_word = (HEAP_FRAME + 64) | GUARD_EMITS;
	ck_assert_int_eq(heap_enter(HEAP_FRAME, 1), HEAP_PASS);
	guard_word = 0;
	ck_assert_uint_eq(atomic_load(&info->whys[DROP_NESTED]), 0);
}
END_TEST

START_TEST(a_sample_outside_of_windows_is_none)
{
	void *p;

	heap_window(HEAP_SAMPLE);
	gate_set(0, 0);
	p = hook_test_malloc(1 << 20);
	ck_assert(!heap_samples_take(p));
}
END_TEST

START_TEST(a_record_that_came_too_late_leaves_nothing_behind)
{
	void *p;

	clock_start(); /* the short way is that of the processor's counter */
	heap_window(HEAP_ALL);
	p = hook_test_malloc(10);
	atomic_store(&thread_mine->chunk->taken, 1);
	p = hook_test_malloc((uintptr_t)p % 7);
	ck_assert_uint_eq(atomic_load(&thread_mine->emitting), 0);
	atomic_store(&thread_mine->chunk->taken, 1);
	hook_test_free(p);
	ck_assert_uint_eq(atomic_load(&thread_mine->emitting), 0);
	ck_assert_uint_eq(guard_word, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap moves");

	tcase_add_test(tc,
		       a_moved_block_is_freed_before_another_thread_may_have_its_address);
	tcase_add_test(tc, a_realloc_that_fails_frees_nothing);
	tcase_add_test(tc, a_realloc_to_nothing_is_a_free);
	tcase_add_test(tc, a_realloc_that_began_before_the_window_frees_nothing_in_it);
	tcase_add_test(tc, a_sample_that_could_not_be_moved_is_one_still);
	tcase_add_test(tc, what_an_observer_allocates_is_not_lost);
	tcase_add_test(tc, what_comes_within_a_free_is_part_of_it);
	tcase_add_test(tc, what_a_handler_does_within_a_record_is_counted_as_lost);
	tcase_add_test(tc, samples_without_room_are_counted_as_lost);
	tcase_add_test(tc, a_threads_first_small_block_is_seldom_a_sample);
	tcase_add_test(tc, each_thread_has_gaps_of_its_own);
	tcase_add_test(tc, a_handler_loses_nothing_where_nothing_is_recorded);
	tcase_add_test(tc, a_sample_outside_of_windows_is_none);
	tcase_add_test(tc, a_record_that_came_too_late_leaves_nothing_behind);
	return unit_run(tc, "heap_moves");
}

#else

int main(void)
{
	puts("not under a sanitizer: it brings its own malloc, so there are no hooks");
	return 77;
}

#endif
