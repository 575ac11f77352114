/* SPDX-License-Identifier: Apache-2.0 */
/* Allocators of a program's own, with ours in front of them. */
#include "tests/unit/domain_bench.h"

#if HEAP_HOOKS

static uint64_t bytes_of(unsigned n)
{
	return ((const struct rec_alloc *)heap_record(REC_ALLOC, -1, n))->bytes;
}

START_TEST(each_call_is_one_record)
{
	static const enum heap_call calls[] = { HEAP_PYMEM, HEAP_PYOBJECT };
	void *p, *moved;

	window(HEAP_ALL);
	for (unsigned i = 0; i < HEAP_DOMAINS; i++) {
		const struct allocator *a = &heap_domain_ours[HEAP_DOMAIN_POOLS][i];

		p = a->malloc(given, 40);
		moved = a->realloc(given, p, HEAP_DOMAIN_SMALL);
		ck_assert_uint_eq(heap_record(REC_FREE, calls[i], 0)->end, (uintptr_t)p);
		a->free(given, moved);
		a->free(given, a->calloc(given, 3, 10));
		ck_records(3 * (i + 1), 3 * (i + 1));
		ck_assert_uint_eq(heap_records(REC_ALLOC, calls[i]), 3);
		ck_assert_uint_eq(heap_records(REC_FREE, calls[i]), 3);
		ck_assert_uint_eq(bytes_of(3 * i), 40);
		ck_assert_uint_eq(bytes_of(3 * i + 1), HEAP_DOMAIN_SMALL);
		ck_assert_uint_eq(bytes_of(3 * i + 2), 30);
	}
}
END_TEST

/* Their frees are recorded by both, as nobody knows where a block lies; the writer
 * does. */
START_TEST(what_is_large_is_mallocs)
{
	void *p;

	window(HEAP_ALL);
	p = OBJECT->malloc(given, LARGE);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC), 1);
	OBJECT->free(given, p);
	ck_assert_uint_eq(heap_records(REC_FREE, HEAP_FREE), 1);
	ck_records(1, 2);
	OBJECT->calloc(given, 1, LARGE);
	ck_records(2, 2);
	/* It leaves its pool. */
	p = OBJECT->malloc(given, HEAP_DOMAIN_SMALL);
	p = OBJECT->realloc(given, p, 5000);
	ck_assert_uint_eq(heap_records(REC_FREE, HEAP_PYOBJECT), 2);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC), 2);
	ck_records(4, 3);
	/* It shrinks, and stays malloc's. */
	p = OBJECT->realloc(given, p, 10);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_REALLOC), 1);
	ck_records(5, 4);
	OBJECT->realloc(given, NULL, LARGE);
	ck_records(6, 4);
	OBJECT->realloc(given, NULL, 20);
	ck_assert_uint_eq(bytes_of(6), 20);
	ck_records(7, 4);
	OBJECT->calloc(given, 2, HEAP_DOMAIN_SMALL / 2);
	ck_assert_uint_eq(bytes_of(7), HEAP_DOMAIN_SMALL);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_PYOBJECT), 3);
	ck_records(8, 4);
}
END_TEST

START_TEST(what_is_nothing_is_mallocs)
{
	void *p;

	window_of(_i);
	heap_gap.left = 0;
	p = OBJECT->malloc(given, 0);
	heap_gap.left = 0;
	p = OBJECT->realloc(given, p, 0);
	heap_gap.left = 0;
	OBJECT->calloc(given, 0, 10);
	heap_gap.left = 0;
	OBJECT->realloc(given, NULL, 0);
	ck_records(4, 1);
	heap_gap.left = 0;
	p = OBJECT->malloc(given, 20);
	heap_gap.left = 0;
	p = OBJECT->realloc(given, p, 0);
	ck_records(6, 2);
	ck_assert_uint_eq(
		heap_records(REC_ALLOC, HEAP_PYOBJECT | (_i ? HEAP_SAMPLED : 0)), 1);
	ck_assert_uint_eq(heap_records(REC_FREE, HEAP_PYOBJECT | (_i ? HEAP_SAMPLED : 0)),
			  1);
}
END_TEST

/* A reader goes by a thread's order: each block has gone before its address comes
 * again. */
START_TEST(what_moves_has_gone_before_it_comes)
{
	static const size_t sizes[] = { 40, 50, 100, 600, 601, 700, 701, 5000, 5001 };
	enum { MOVES = sizeof(sizes) / sizeof(*sizes) };
	const struct record *gone, *made;
	void *p = NULL;

	window_of(_i);
	for (unsigned i = 0; i < MOVES; i++) {
		heap_gap.left = 0;
		p = OBJECT->realloc(given, p, sizes[i]);
	}
	ck_records(MOVES, MOVES - 1);
	for (unsigned i = 0; i + 1 < MOVES; i++) {
		gone = heap_record(REC_FREE, -1, i);
		ck_assert_uint_eq(gone->end, heap_record(REC_ALLOC, -1, i)->end);
		ck_assert_uint_eq(gone->flags & HEAP_SAMPLED, _i ? HEAP_SAMPLED : 0);
		made = heap_record(REC_ALLOC, -1, i + 1);
		if (made->end == gone->end)
			ck_assert_uint_lt((uintptr_t)gone, (uintptr_t)made);
	}
}
END_TEST

START_TEST(what_fails_leaves_no_record)
{
	void *p;

	window(HEAP_ALL);
	p = OBJECT->malloc(given, 10);
	fails = true;
	ck_assert_ptr_null(OBJECT->malloc(given, 10));
	ck_assert_ptr_null(OBJECT->calloc(given, 1, 10));
	ck_assert_ptr_null(OBJECT->calloc(given, SIZE_MAX / 2, 4));
	ck_assert_ptr_null(OBJECT->realloc(given, p, 20));
	ck_assert_ptr_null(OBJECT->realloc(given, p, 0));
	ck_records(1, 0);
	fails = false;
	OBJECT->free(given, NULL);
	ck_records(1, 0);
	OBJECT->realloc(given, p, 0); /* is a block of malloc's */
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC), 1);
	ck_records(2, 1);
}
END_TEST

/* What a handler of a signal does in the middle of our own record is not recorded. */
START_TEST(inside_of_a_record_nothing_is)
{
	window(HEAP_ALL);
	guard_word = GUARD_OURS;
	OBJECT->free(given, OBJECT->realloc(given, OBJECT->malloc(given, 10), 20));
	OBJECT->free(given, OBJECT->calloc(given, 1, 20));
	ck_assert_uint_eq(guard_word, GUARD_OURS);
	guard_word = 0;
	ck_records(0, 0);
}
END_TEST

START_TEST(outside_of_windows_they_pass_on)
{
	struct cycle_info *info = window(HEAP_ALL);
	void *p;

	gate_set(0, 0);
	heap_ended(info, true);
	p = OBJECT->malloc(given, 10);
	p = OBJECT->realloc(given, p, 20);
	OBJECT->free(given, p);
	OBJECT->free(given, OBJECT->calloc(given, 2, 10));
	ck_records(0, 0);
}
END_TEST

/* Samples of malloc's count of bytes are no business of theirs. */
START_TEST(counted_or_not_found_they_pass_on)
{
	window(HEAP_COUNT);
	OBJECT->free(given, OBJECT->malloc(given, 10));
	ck_records(0, 0);
}
END_TEST

/* So many blocks of 100 bytes are made, by `make`, and freed. */
static unsigned samples_of(void *(*make)(void), unsigned blocks)
{
	unsigned before = heap_records(REC_ALLOC, -1);
	void *kept[400];

	for (unsigned n = 0; n < blocks; n += 400) {
		at = pool;
		for (unsigned i = 0; i < 400; i++)
			kept[i] = make();
		for (unsigned i = 0; i < 400; i++)
			OBJECT->free(given, kept[i]);
	}
	return heap_records(REC_ALLOC, -1) - before;
}

static void *by_malloc(void)
{
	return OBJECT->malloc(given, 100);
}

static void *by_calloc(void)
{
	return OBJECT->calloc(given, 10, 10);
}

static void *by_realloc(void)
{
	return OBJECT->realloc(given, NULL, 100);
}

/* 800,000 bytes are 195 samples, with an error of 14. */
START_TEST(samples_are_so_many_by_bytes)
{
	void *(*const ways[])(void) = { by_malloc, by_calloc, by_realloc };

	window(HEAP_SAMPLE);
	for (unsigned i = 0; i < 3; i++) {
		unsigned n = samples_of(ways[i], 8000);

		ck_assert_uint_gt(n, 195 - 70);
		ck_assert_uint_lt(n, 195 + 70);
	}
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_PYOBJECT | HEAP_SAMPLED),
			  heap_records(REC_ALLOC, -1));
	ck_assert_uint_eq(heap_records(REC_FREE, -1), heap_records(REC_ALLOC, -1));
	ck_assert_uint_eq(guard_word, 0);
}
END_TEST

/* A sample is freed once, whatever it becomes and wherever it lies. */
START_TEST(a_sample_that_moves_is_freed_once)
{
	void *p;

	window(HEAP_SAMPLE);
	do
		p = OBJECT->malloc(given, 100);
	while (!heap_records(REC_ALLOC, HEAP_PYOBJECT | HEAP_SAMPLED));
	fails = true;
	ck_assert_ptr_null(OBJECT->realloc(given, p, 20));
	fails = false;
	ck_records(1, 0);
	heap_gap.left = 1 << 20;
	p = OBJECT->realloc(given, p, 20);
	ck_records(1, 1);
	OBJECT->free(given, p);
	ck_records(1, 1);
	heap_gap.left = 0;
	p = OBJECT->malloc(given, 5000);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC | HEAP_SAMPLED), 1);
	heap_gap.left = 1 << 20;
	OBJECT->free(given, p);
	ck_records(2, 2);
}
END_TEST

/* ---- stacks ---- */

static uint32_t answer, natives[8], asked;

static uint32_t take_both(struct thread *t, uint32_t native)
{
	ck_assert_ptr_nonnull(t);
	natives[asked++] = native;
	return native ? native : answer;
}

START_TEST(an_object_has_pythons_stack_or_the_native_one)
{
	heap_prepare(HEAP_ALL);
	heap_config.native_stacks = 1u << NATIVE_MALLOC;
	put_in_front();
	heap_start(&heap_config, 1);
	ck_assert(heap_settings.stacks);
	heap_also_walk(take_both);
	heap_begin_window(1);
	answer = 77;
	OBJECT->malloc(given, 10);
	ck_assert_uint_eq(heap_record(REC_ALLOC, HEAP_PYOBJECT, 0)->name, 77);
	ck_assert_uint_eq(asked, 1);
	answer = 0; /* there is no Python */
	MEM->malloc(given, 10);
	ck_assert_uint_ne(heap_record(REC_ALLOC, HEAP_PYMEM, 0)->name, 0);
	ck_assert_uint_eq(asked, 2);
	ck_assert_uint_eq(natives[0] | natives[1], 0);
	hook_test_free(hook_test_malloc(10));
	ck_assert_uint_eq(asked, 3);
	ck_assert_uint_ne(natives[2], 0);
}
END_TEST

#endif

int main(void)
{
	TCase *tc = tcase_create("heap_domain");

#if HEAP_HOOKS
	tcase_add_test(tc, each_call_is_one_record);
	tcase_add_test(tc, what_is_large_is_mallocs);
	tcase_add_loop_test(tc, what_is_nothing_is_mallocs, 0, 2);
	tcase_add_loop_test(tc, what_moves_has_gone_before_it_comes, 0, 2);
	tcase_add_test(tc, what_fails_leaves_no_record);
	tcase_add_test(tc, outside_of_windows_they_pass_on);
	tcase_add_test(tc, inside_of_a_record_nothing_is);
	tcase_add_test(tc, counted_or_not_found_they_pass_on);
	tcase_add_test(tc, a_sample_that_moves_is_freed_once);
	tcase_add_test(tc, an_object_has_pythons_stack_or_the_native_one);
	tcase_add_test(tc, samples_are_so_many_by_bytes);
#endif
	return unit_run(tc, "heap_domain");
}
