/* SPDX-License-Identifier: Apache-2.0 */
/* How the spool gets smaller, for a moment or for good. */
#include "agent/core/chunk.h"
#include "base/sys.h"
#include "tests/unit/seam.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define MIB (1ull << 20)

#define CAP (4u << 20)

static uint8_t *open_spool(void)
{
	ck_assert_int_eq(spool_open(NULL, CAP), 0);
	ck_assert_int_eq(spool_prepare(CAP), 0);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	return spool.base;
}

/* A page that is not mapped has no rights to change. */
static bool is_mapped(const uint8_t *page)
{
	unsigned char core;

	return !mincore((void *)(uintptr_t)page, 4096, &core);
}

START_TEST(while_it_is_small_nothing_is_handed_out)
{
	uint8_t *base = open_spool();
	uint64_t used = atomic_load(&spool.head->used), at;

	errno = 4711;
	spool_shrink(0);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	ck_assert_uint_eq(spool.now, used);
	ck_assert(is_mapped(base + used - 4096) && !is_mapped(base + used));
	errno = 4711;
	spool_regrow();
	ck_assert_int_eq(errno, 4711);
	ck_assert_ptr_eq(spool.base, base);
	ck_assert_uint_eq(spool.cap, CAP);
	ck_assert_uint_eq(spool.now, CAP);
	ck_assert(is_mapped(base + CAP - 4096));
	while ((at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1)))
		memset(chunk_at(at) + 1, 1, CHUNK_LARGE - sizeof(struct chunk));
	ck_assert_uint_eq(atomic_load(&spool.head->used), CAP);
}
END_TEST

START_TEST(what_is_small_for_good_has_the_room_that_was_left)
{
	uint8_t *base = open_spool();
	uint64_t used = atomic_load(&spool.head->used), at;

	spool_shrink(4 * CHUNK_LARGE);
	ck_assert_uint_eq(spool.now, used + 4 * CHUNK_LARGE);
	spool_settle();
	ck_assert_uint_eq(spool.cap, used + 4 * CHUNK_LARGE);
	ck_assert(!is_mapped(base + spool.cap));
	for (int i = 0; i < 4; i++) {
		at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1);
		ck_assert_uint_ne(at, 0);
		memset(chunk_at(at) + 1, 1, CHUNK_LARGE - sizeof(struct chunk));
	}
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
}
END_TEST

/* Where much was recorded the mapping is of two parts. */
START_TEST(what_has_large_pages_grows_again)
{
	char dir[] = "/tmp/unit-XXXXXX";
	uint64_t cap = 8 << 20;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, cap), 0);
	ck_assert_int_eq(unlink(spool_path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(spool_prepare(4 << 20), 0);
	while (atomic_load(&spool.head->used) < 3 << 20)
		ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	for (int i = 0; i < 2; i++) {
		spool_shrink(0);
		spool_regrow();
		ck_assert_uint_eq(spool.now, cap);
		ck_assert_uint_eq(spool.cap, cap);
		ck_assert(is_mapped(spool.base + cap - 4096));
		ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	}
}
END_TEST

/* In a file, of which a few chunks are handed out and written. */
static void open_file(void)
{
	char dir[] = "/tmp/unit-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	ck_assert_int_eq(unlink(spool_path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	for (int i = 0; i < 4; i++) {
		uint64_t at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1);

		ck_assert_uint_ne(at, 0);
		memset(chunk_at(at) + 1, 4 + i, CHUNK_LARGE - sizeof(struct chunk));
	}
}

START_TEST(what_was_put_away_comes_back_as_it_was)
{
	uint64_t used, at, ready;
	const uint8_t *last;

	open_file();
	used = atomic_load(&spool.head->used);
	ready = atomic_load(&spool.head->ready);
	last = spool.base + used - 1;
	errno = 4711;
	ck_assert(spool_put_away());
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(spool.now, SPOOL_HEADER);
	ck_assert(is_mapped(spool.base) && !is_mapped(spool.base + SPOOL_HEADER));
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	ck_assert(spool_regrow());
	ck_assert_uint_eq(spool.now, CAP);
	ck_assert_uint_eq(atomic_load(&spool.head->used), used);
	ck_assert_uint_le(atomic_load(&spool.head->ready), ready);
	ck_assert_uint_eq(*last, 7);
	while ((at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1)))
		memset(chunk_at(at) + 1, 1, CHUNK_LARGE - sizeof(struct chunk));
	ck_assert_uint_eq(atomic_load(&spool.head->used), CAP);
}
END_TEST

START_TEST(what_lies_in_no_file_is_not_put_away)
{
	open_spool();
	spool.kept = false;
	ck_assert(!spool_put_away());
	ck_assert_uint_eq(spool.now, CAP);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
}
END_TEST

START_TEST(what_does_not_come_back_is_told)
{
	open_file();
	ck_assert(spool_put_away());
	ck_assert_ptr_ne(mmap(spool.base + SPOOL_HEADER, 4096, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 MAP_FAILED);
	ck_assert(!spool_regrow());
	ck_assert_uint_eq(spool.now, SPOOL_HEADER);
}
END_TEST

/* Somebody else has mapped something there meanwhile. */
START_TEST(what_another_has_taken_is_not_taken_back)
{
	uint8_t *base = open_spool(), *theirs;
	uint64_t used = atomic_load(&spool.head->used), at;

	spool_shrink(CHUNK_LARGE);
	theirs = mmap(base + used + CHUNK_LARGE, 4096, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	*theirs = 42;
	spool_regrow();
	ck_assert_uint_eq(spool.cap, used + CHUNK_LARGE);
	ck_assert_uint_eq(atomic_load(&spool.head->settled), spool.cap);
	ck_assert_uint_eq(atomic_load(&spool.head->limit), used + CHUNK_LARGE);
	while ((at = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1)))
		memset(chunk_at(at) + 1, 1, CHUNK_SMALL - sizeof(struct chunk));
	ck_assert_uint_eq(atomic_load(&spool.head->used), used + CHUNK_LARGE);
	ck_assert_uint_eq(*theirs, 42);
}
END_TEST

/* It lies at the end, as the kernel maps from above: what is before it comes back. */
START_TEST(what_another_has_not_taken_is_taken_back)
{
	uint8_t *base = open_spool();

	ck_assert(spool_shrink(0));
	ck_assert_ptr_ne(mmap(base + CAP - 4096, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 MAP_FAILED);
	spool_regrow();
	ck_assert_uint_lt(spool.cap, CAP);
	ck_assert_uint_ge(spool.cap, CAP - CAP / 8);
	ck_assert_uint_eq(spool.now, spool.cap);
	ck_assert(is_mapped(base + spool.cap - 4096) && !is_mapped(base + spool.cap));
	while (chunk_take(CHUNK_DATA, CHUNK_LARGE, 1))
		;
	ck_assert_uint_eq(atomic_load(&spool.head->used), spool.cap);
}
END_TEST

START_TEST(a_small_one_may_be_told_to_stay_smaller)
{
	uint64_t used;

	open_spool();
	used = atomic_load(&spool.head->used);
	spool_bound(UINT64_MAX / 2);
	ck_assert_uint_eq(atomic_load(&spool.head->settled), 0);
	ck_assert(spool_shrink(0));
	spool_bound(2 * CHUNK_LARGE);
	spool_regrow();
	ck_assert_uint_eq(spool.now, used + 2 * CHUNK_LARGE);
	ck_assert_uint_eq(atomic_load(&spool.head->limit), spool.now);
	ck_assert_uint_eq(atomic_load(&spool.head->settled), spool.now);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
}
END_TEST

static bool shrinks;

static bool shrink_first(long nr, const long a[6], long *result)
{
	(void)a;
	(void)result;
	if (nr != SYS_madvise)
		return false;
	seam = NULL;
	shrinks = spool_shrink(0);
	return false;
}

/* A handler locks the program's memory just when its thread populates a chunk. */
START_TEST(who_is_making_pages_finds_them_mapped)
{
	ck_assert_int_eq(spool_open(NULL, CAP), 0);
	seam = shrink_first;
	shrinks = true;
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert_ptr_null(seam);
	ck_assert(!shrinks);
	ck_assert_uint_eq(spool.now, CAP);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert(spool_shrink(0));
	ck_assert_uint_lt(spool.now, CAP);
}
END_TEST

START_TEST(what_is_away_for_a_moment_is_no_full_disk)
{
	uint64_t limit, ready;

	ck_assert_int_eq(spool_open(NULL, CAP), 0);
	limit = atomic_load(&spool.head->limit);
	ready = atomic_load(&spool.head->ready);
	ck_assert_int_eq(chunk_lacks(REC_ALLOC), DROP_CAP);
	ck_assert(spool_shrink(0));
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	spool.small = false; /* it may have grown before anybody asks why */
	ck_assert_int_eq(chunk_lacks(REC_ALLOC), DROP_LOCKED);
	ck_assert_int_eq(chunk_lacks(REC_ALLOC), DROP_CAP);
	spool.small = true;
	ck_assert_int_eq(spool_prepare(MIB), 0);
	ck_assert_uint_eq(atomic_load(&spool.head->ready), ready);
	spool_regrow();
	ck_assert_uint_eq(atomic_load(&spool.head->limit), limit);
	ck_assert_int_eq(chunk_lacks(REC_ALLOC), DROP_CAP);
	ck_assert_int_eq(spool_prepare(MIB), 0);
	ck_assert_uint_gt(atomic_load(&spool.head->ready), ready);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
}
END_TEST

static _Atomic bool ends;

static void *take_all(void *arg)
{
	_Atomic uint64_t *taken = arg;
	uint64_t at;

	while (!atomic_load(&ends)) {
		at = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
		if (at)
			memset(chunk_at(at) + 1, 1, CHUNK_SMALL - sizeof(struct chunk));
		atomic_fetch_add(taken, at != 0);
	}
	return NULL;
}

/* The program's other threads go on meanwhile, and some of them need room at just that
 * moment: the spool is large again each time, and in the end it is as it was. */
START_TEST(threads_that_need_room_meanwhile_get_it_later)
{
	_Atomic uint64_t taken = 0, before;
	uint64_t limit, cap = 64 * MIB;
	pthread_t id[2];

	ck_assert_int_eq(spool_open(NULL, cap), 0);
	limit = atomic_load(&spool.head->limit);
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&id[i], NULL, take_all, &taken);
	for (unsigned i = 0; i < 500 && atomic_load(&spool.head->used) < cap / 2; i++) {
		if (spool_shrink(0))
			spool_regrow();
		before = atomic_load(&taken);
		while (atomic_load(&taken) == before &&
		       atomic_load(&spool.head->limit) == limit)
			sched_yield();
	}
	atomic_store(&ends, true);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(id[i], NULL);
	ck_assert_uint_eq(spool.now, cap);
	ck_assert_uint_eq(spool.pins, 0);
	ck_assert_uint_eq(atomic_load(&spool.head->limit), limit);
}
END_TEST

static unsigned long locked_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long n = 0;
	char line[256];

	while (fgets(line, sizeof(line), f) && sscanf(line, "VmLck: %lu", &n) != 1)
		;
	fclose(f);
	return n;
}

START_TEST(what_was_locked_is_not_locked_any_more)
{
	open_spool();
	spool_shrink(0);
	if (mlock(spool.base, spool.now))
		return; /* not allowed here */
	ck_assert_uint_gt(locked_kib(), 0);
	spool_regrow();
	ck_assert_uint_eq(locked_kib(), 0);
}
END_TEST

START_TEST(without_a_spool_nothing_is_done)
{
	spool_shrink(0);
	spool_settle();
	spool_regrow();
	spool_confine(MIB);
	spool_unconfine();
	spool_leave();
	ck_assert_ptr_null(spool.base);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core size");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_test(tc, while_it_is_small_nothing_is_handed_out);
	tcase_add_test(tc, what_is_small_for_good_has_the_room_that_was_left);
	tcase_add_test(tc, what_has_large_pages_grows_again);
	tcase_add_test(tc, what_was_put_away_comes_back_as_it_was);
	tcase_add_test(tc, what_lies_in_no_file_is_not_put_away);
	tcase_add_test(tc, what_does_not_come_back_is_told);
	tcase_add_test(tc, what_another_has_taken_is_not_taken_back);
	tcase_add_test(tc, what_another_has_not_taken_is_taken_back);
	tcase_add_test(tc, a_small_one_may_be_told_to_stay_smaller);
	tcase_add_test(tc, who_is_making_pages_finds_them_mapped);
	tcase_add_test(tc, what_is_away_for_a_moment_is_no_full_disk);
	tcase_add_test(tc, threads_that_need_room_meanwhile_get_it_later);
	tcase_add_test(tc, what_was_locked_is_not_locked_any_more);
	tcase_add_test(tc, without_a_spool_nothing_is_done);
	return unit_run(tc, "core size");
}
