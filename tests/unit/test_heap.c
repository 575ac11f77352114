/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/emit.h"
#include "agent/core/spool_view.h"
#include "agent/heap/count.h"
#include "agent/heap/record.h"
#include "base/elf.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the hooks, on the C library ---- */

#if HEAP_HOOKS

#define HOOK(ret, name, params) ret hook_test_##name params;
#include "agent/heap/malloc.def"
#undef HOOK

static struct cycle_info *info;

static void open_window(enum heap_mode mode)
{
	static struct config config;
	uint64_t at;

	if (gate_start() || thread_start() || spool_open(NULL, 64 << 20))
		abort();
	clock_begin(spool.head);
	spool_prepare(32 << 20);
	config_defaults(&config);
	config.malloc = mode;
	config.native_stacks = 0;
	config.malloc_sample_kb = 4;
	heap_start(&config, 1);
	at = chunk_take(CHUNK_CYCLE, sizeof(struct chunk) + sizeof(struct cycle_info), 1);
	info = (struct cycle_info *)(chunk_at(at) + 1);
	memset((void *)info, 0, sizeof(*info));
	heap_opened(info);
	gate_set(1, at);
}

static unsigned kept(enum record_kind kind, unsigned flags, uint64_t *bytes)
{
	struct spool_view view;
	const struct chunk *c;
	uint64_t at = SPOOL_HEADER;
	unsigned n = 0;

	ck_assert_int_eq(
		spool_view_init(&view, spool.base, atomic_load(&spool.head->used)), 0);
	while ((c = spool_view_next(&view, &at)))
		for (uint32_t i = sizeof(*c);
		     c->kind == CHUNK_DATA &&
		     i < atomic_load(&((struct chunk *)c)->used);) {
			const struct record *r = (const void *)((const char *)c + i);

			if (r->kind == kind && r->flags == flags) {
				n++;
				if (bytes)
					*bytes += ((const struct rec_alloc *)r)->bytes;
			}
			i += r->units * 8u;
		}
	return n;
}

START_TEST(each_call_is_one_record_of_its_own_kind)
{
	uint64_t bytes = 0;
	void *p, *q;

	open_window(HEAP_ALL);
	p = hook_test_malloc(10);
	ck_assert_uint_ge(hook_test_malloc_usable_size(p), 10);
	p = hook_test_realloc(p, 10000);
	q = hook_test_calloc(3, 5);
	hook_test_free(p);
	hook_test_free(q);
	hook_test_free(NULL);
	ck_assert_int_eq(hook_test_posix_memalign(&p, 64, 100), 0);
	hook_test_free_sized(p, 100);
	p = hook_test_reallocarray(NULL, 7, 9);
	hook_test_sdallocx(p, 63, 0);
	ck_assert_ptr_null(hook_test_malloc((size_t)1 << 62));
	ck_assert_ptr_null(hook_test_calloc(SIZE_MAX, 2));
	ck_assert_uint_eq(guard_word, 0);
	ck_assert_ptr_null(hook_test_reallocarray(NULL, SIZE_MAX, 2));
	ck_assert_int_eq(hook_test_posix_memalign(&p, 3, 100), EINVAL);
	ck_assert_uint_eq(kept(REC_ALLOC, HEAP_MALLOC, &bytes), 1);
	ck_assert_uint_eq(kept(REC_ALLOC, HEAP_REALLOC, &bytes), 2);
	ck_assert_uint_eq(kept(REC_ALLOC, HEAP_CALLOC, &bytes), 1);
	ck_assert_uint_eq(kept(REC_ALLOC, HEAP_ALIGNED, &bytes), 1);
	ck_assert_uint_eq(bytes, 10 + 10000 + 63 + 15 + 100);
	ck_assert_uint_eq(kept(REC_FREE, HEAP_FREE, NULL), 4);
	ck_assert_uint_eq(kept(REC_FREE, HEAP_REALLOC, NULL), 1);
}
END_TEST

START_TEST(what_is_ours_or_nested_is_not_seen)
{
	jmp_buf out;

	open_window(HEAP_ALL);
	guard_word = GUARD_OURS;
	hook_test_free(hook_test_malloc(1));
	guard_word = 0;
	if (!setjmp(out)) {
		ck_assert_int_eq(heap_enter(HEAP_FRAME, 1), HEAP_WANTED);
		hook_test_free(hook_test_malloc(1));
		ck_assert_uint_eq(kept(REC_ALLOC, HEAP_MALLOC, NULL), 0);
		longjmp(out, 1);
	}
	/* Left by a jump from further in, the guard is that of a call that is gone. */
	guard_word = (HEAP_FRAME - 4096) & ~(uintptr_t)15;
	hook_test_free(hook_test_malloc(1));
	ck_assert_uint_eq(kept(REC_ALLOC, HEAP_MALLOC, NULL), 1);
	ck_assert_uint_eq(kept(REC_FREE, HEAP_FREE, NULL), 1);
	ck_assert_uint_eq(atomic_load(&info->whys[DROP_NESTED]), 0);
}
END_TEST

START_TEST(errno_is_the_real_functions)
{
	open_window(HEAP_ALL);
	errno = 99;
	hook_test_free(hook_test_malloc(100));
	ck_assert_int_eq(errno, 99);
	hook_test_malloc((size_t)1 << 62);
	ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

/* As the C library says it: in a window, and outside of all. */
START_TEST(a_product_that_is_too_large_has_its_errno)
{
	void *p;

	if (_i)
		open_window(HEAP_ALL);
	p = hook_test_malloc(10);
	for (int i = 0; i < 4; i++) {
		errno = 99;
		ck_assert_ptr_null(
			i & 1 ? hook_test_reallocarray(i & 2 ? p : NULL, SIZE_MAX / 4, 5)
			      : hook_test_calloc(SIZE_MAX / 4, 5));
		ck_assert_int_eq(errno, ENOMEM);
		ck_assert_uint_eq(guard_word, 0);
	}
	hook_test_free(p); /* nothing has become of it */
}
END_TEST

/* By every function, so that none forgets the countdown. */
START_TEST(samples_are_as_many_as_the_bytes_say)
{
	enum { ROUNDS = 20000, SIZE = 100 };
	double p = 1 - exp(-(double)SIZE / 4096), expected;
	unsigned n = 0, frees;

	open_window(HEAP_SAMPLE);
	for (unsigned i = 0; i < ROUNDS; i++) {
		void *q;

		hook_test_free(hook_test_malloc(SIZE));
		hook_test_free(hook_test_calloc(1, SIZE));
		hook_test_free(hook_test_realloc(hook_test_realloc(NULL, SIZE), SIZE));
		hook_test_free(hook_test_aligned_alloc(4, SIZE));
		if (!hook_test_posix_memalign(&q, 64, SIZE))
			hook_test_free(q);
	}
	for (unsigned call = 0; call <= HEAP_ALIGNED; call++) {
		double factor = call == HEAP_REALLOC || call == HEAP_ALIGNED ? 2 : 1;
		unsigned seen = kept(REC_ALLOC, call | HEAP_SAMPLED, NULL);

		expected = factor * ROUNDS * p;
		ck_assert_double_lt(fabs(seen - expected), 5 * sqrt(expected));
		n += seen;
	}
	frees = kept(REC_FREE, HEAP_FREE | HEAP_SAMPLED, NULL) +
		kept(REC_FREE, HEAP_REALLOC | HEAP_SAMPLED, NULL);
	ck_assert_uint_eq(frees, n);
	ck_assert_uint_eq(kept(REC_FREE, HEAP_FREE, NULL), 0);
}
END_TEST

START_TEST(counters_balance)
{
	uint64_t sum[SPOOL_COUNTERS];
	void *p;

	open_window(HEAP_COUNT);
	p = hook_test_malloc(100);
	p = hook_test_realloc(p, 5000);
	hook_test_free(hook_test_calloc(10, 10));
	heap_sum(sum);
	ck_assert_uint_eq(sum[COUNT_ALLOCS], 3);
	ck_assert_uint_eq(sum[COUNT_FREES], 2);
	ck_assert_uint_eq(sum[COUNT_ALLOCATED] - sum[COUNT_FREED],
			  hook_test_malloc_usable_size(p));
	hook_test_free(p);
	heap_mark();
	ck_assert_uint_eq(kept(REC_HEAP, HEAP_HAS_COUNTS, NULL), 1);
	heap_tick();
	ck_assert_uint_eq(kept(REC_HEAP, HEAP_HAS_COUNTS | HEAP_HAS_RSS, NULL), 1);
}
END_TEST

static unsigned asked;
static size_t lie;
static size_t (*asked_of)(void *);

static size_t usable_and_more(void *p)
{
	asked++;
	return asked_of(p) + lie;
}

/* Blocks of all kinds: small, of several pages, mapped, aligned. */
static uint64_t count_blocks(unsigned n, uint64_t *usable)
{
	static void *block[500];
	uint64_t sum[SPOOL_COUNTERS], before[SPOOL_COUNTERS];

	*usable = 0;
	heap_sum(before);
	for (unsigned i = 0; i < n; i++) {
		size_t size = i % 50 == 9 ? 1u << 20 : i * 37 % 9000;

		block[i] = i % 7 ? hook_test_malloc(size)
				 : hook_test_aligned_alloc(256, size);
		*usable += asked_of(block[i]);
	}
	for (unsigned i = 0; i < n; i++)
		hook_test_free(block[i]);
	heap_sum(sum);
	ck_assert_uint_eq(sum[COUNT_ALLOCS] - before[COUNT_ALLOCS], n);
	ck_assert_uint_eq(sum[COUNT_FREED] - before[COUNT_FREED],
			  sum[COUNT_ALLOCATED] - before[COUNT_ALLOCATED]);
	return sum[COUNT_ALLOCATED] - before[COUNT_ALLOCATED];
}

START_TEST(sizes_are_read_only_where_they_are_what_is_said)
{
	uint64_t usable;

	open_window(HEAP_COUNT);
	asked_of = heap_real.malloc_usable_size;
	heap_real.malloc_usable_size = usable_and_more;
	if (heap_is_glibc()) {
		heap_sizes_try();
		for (unsigned i = 0; i < 3; i++) {
			asked = 0;
			ck_assert_uint_eq(count_blocks(500, &usable), usable);
		}
		ck_assert_uint_lt(asked, 500); /* believed by now, but for mapped ones */
	}
	lie = 16;
	heap_sizes_try();
	for (unsigned i = 0; i < 3; i++) {
		asked = 0;
		ck_assert_uint_eq(count_blocks(500, &usable), usable + 500 * lie);
		ck_assert_uint_eq(asked, 1000); /* never again */
	}
}
END_TEST

START_TEST(a_block_of_the_arena_is_moved_out_and_never_freed)
{
	char *p = boot_malloc(10), *q;

	open_window(HEAP_ALL);
	memcpy(p, "123456789", 10);
	ck_assert_uint_eq(hook_test_malloc_usable_size(p), 10);
	q = hook_test_realloc(p, 4);
	ck_assert(!boot_owns(q));
	ck_assert_int_eq(memcmp(q, "1234", 4), 0);
	hook_test_free(q);
	q = hook_test_reallocarray(p, 100, 100);
	ck_assert(!boot_owns(q));
	ck_assert_str_eq(q, "123456789");
	hook_test_free(q);
	hook_test_free(p);
	hook_test_free_sized(p, 10);
	hook_test__ZdlPv(p);
	ck_assert_uint_eq(kept(REC_FREE, HEAP_FREE, NULL), 2);
	ck_assert_uint_eq(kept(REC_FREE, HEAP_DELETE, NULL), 0);
}
END_TEST

/* Behind the arena nothing is mapped: what is copied is what the block has. */
START_TEST(no_more_of_an_arenas_block_is_moved_than_it_has)
{
	uint8_t *end = boot_memory + BOOT_SIZE, *last = NULL, *p;

	mmap(end, 4 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
	     -1, 0);
	while ((p = boot_malloc(16)))
		last = p;
	memset(last, 7, 16);
	open_window(HEAP_ALL);
	p = hook_test_realloc(last, 2 << 20);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p[0] + p[15], 14);
}
END_TEST

/* No C++ library is here: they are made of malloc and free. */
START_TEST(operators_without_a_library_work)
{
	void *p = hook_test__Znwm(10);

	ck_assert_ptr_nonnull(p);
	hook_test__ZdlPvm(p, 10);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap");

	tcase_add_test(tc, each_call_is_one_record_of_its_own_kind);
	tcase_add_test(tc, what_is_ours_or_nested_is_not_seen);
	tcase_add_test(tc, errno_is_the_real_functions);
	tcase_add_loop_test(tc, a_product_that_is_too_large_has_its_errno, 0, 2);
	tcase_add_test(tc, samples_are_as_many_as_the_bytes_say);
	tcase_add_test(tc, counters_balance);
	tcase_add_test(tc, sizes_are_read_only_where_they_are_what_is_said);
	tcase_add_test(tc, a_block_of_the_arena_is_moved_out_and_never_freed);
	tcase_add_test(tc, no_more_of_an_arenas_block_is_moved_than_it_has);
	tcase_add_test(tc, operators_without_a_library_work);
	return unit_run(tc, "heap");
}

#else

int main(void)
{
	puts("not under a sanitizer: it brings its own malloc, so there are no hooks");
	return 77;
}

#endif
