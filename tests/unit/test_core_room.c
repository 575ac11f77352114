/* SPDX-License-Identifier: Apache-2.0 */
/* How large the spool may be where memory is limited, and how it gets smaller. */
#include "agent/core/chunk.h"
#include "base/sys.h"
#include "tests/unit/seam.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MIB (1ull << 20)
#define GIB (1ull << 30)

/* ---- how much ---- */

static const char *statm = "2560 7 5 3 0 1280 0\n"; /* pages: 10 MiB, of that 5 data */
static const char *groups, *most, *now, *above = "max\n", *root = "max\n";

static bool no_proc;

static bool say_limits(long nr, const long a[6], long *result)
{
	const char *text = seam_opens(nr, a, "/self/statm")       ? statm
			   : seam_opens(nr, a, "/self/cgroup")    ? groups
			   : seam_opens(nr, a, "/memory.max")     ? most
			   : seam_opens(nr, a, "/memory.current") ? now
								  : NULL;

	if (text == statm && no_proc) {
		*result = -ENOENT;
		return true;
	}
	/* The groups are that of the process and those above it, and no other. */
	if (text && (text == most || text == now) &&
	    !strstr((const char *)a[1], "/sys/fs/cgroup/mine/mem") &&
	    !strstr((const char *)a[1], "/sys/fs/cgroup/above/mine/mem"))
		text = text == now ? "1000\n"
		       : !strcmp((const char *)a[1], "/sys/fs/cgroup/above/memory.max")
			       ? above
		       : !strcmp((const char *)a[1], "/sys/fs/cgroup/memory.max") ? root
										  : "7";
	if (text)
		*result = seam_text(text);
	return text;
}

static void limit(int resource, uint64_t bytes)
{
	struct rlimit l;

	ck_assert_int_eq(getrlimit(resource, &l), 0);
	l.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(resource, &l), 0);
}

/* Without /proc nobody knows what is left: all of it is the program's. */
START_TEST(what_is_left_unknown_is_not_ours)
{
	seam = say_limits;
	no_proc = true;
	ck_assert_uint_eq(spool_room(256 * MIB, UINT64_MAX), 256 * MIB);
	ck_assert_uint_eq(spool_room_below(RLIMIT_DATA, GIB), 0);
	limit(RLIMIT_AS, 10 * GIB);
	ck_assert_uint_eq(spool_room(256 * MIB, UINT64_MAX), 0);
}
END_TEST

START_TEST(a_sixteenth_of_what_is_left_is_ours)
{
	seam = say_limits;
	ck_assert_uint_eq(spool_room(256 * MIB, UINT64_MAX), 256 * MIB);
	limit(RLIMIT_AS, 10 * GIB + 10 * MIB);
	ck_assert_uint_eq(spool_room(256 * MIB, UINT64_MAX), 256 * MIB);
	ck_assert_uint_eq(spool_room(GIB, UINT64_MAX), 640 * MIB);
	limit(RLIMIT_DATA, 5 * GIB + 5 * MIB);
	ck_assert_uint_eq(spool_room(GIB, UINT64_MAX), 320 * MIB);
	ck_assert_uint_eq(spool_room(GIB, 160 * MIB), 10 * MIB);
	ck_assert_uint_eq(spool_room(GIB, 160 * MIB + 16 * 5000), 10 * MIB);
	ck_assert_uint_eq(spool_room(GIB, 32 * MIB), 2 * MIB);
	ck_assert_uint_eq(spool_room(GIB, 32 * MIB - 16), 0);
	ck_assert_uint_eq(spool_room(GIB, 0), 0);
	ck_assert_uint_eq(spool_room(MIB, UINT64_MAX), MIB); /* as it was asked for */
	/* Each user has a limit on locked memory, of 64 KiB or 8 MiB: it says nothing of
	 * what may be mapped, and what is mapped is away while the program locks. */
	limit(RLIMIT_MEMLOCK, 64 << 10);
	ck_assert_uint_eq(spool_room(256 * MIB, UINT64_MAX), 256 * MIB);
	limit(RLIMIT_MEMLOCK, 0);
	ck_assert_uint_eq(spool_room(256 * MIB, UINT64_MAX), 256 * MIB);
	/* Over its limit there is nothing, not everything. */
	statm = "999999999 7 5 3 0 999999999 0\n";
	ck_assert_uint_eq(spool_room(GIB, UINT64_MAX), 0);
}
END_TEST

START_TEST(a_limit_on_files_is_the_spools_as_well)
{
	limit(RLIMIT_FSIZE, 64 * MIB + 100);
	ck_assert_uint_eq(spool_room(256 * MIB, UINT64_MAX), 64 * MIB);
	ck_assert_uint_eq(spool_room(16 * MIB, UINT64_MAX), 16 * MIB);
	limit(RLIMIT_FSIZE, MIB); /* told as "too large", later */
	ck_assert_uint_eq(spool_room(256 * MIB, UINT64_MAX), 256 * MIB);
}
END_TEST

START_TEST(a_limit_that_comes_later_leaves_as_much)
{
	seam = say_limits;
	ck_assert_uint_eq(spool_room_below(RLIMIT_AS, 170 * MIB), 10 * MIB);
	ck_assert_uint_eq(spool_room_below(RLIMIT_DATA, 165 * MIB), 10 * MIB);
	ck_assert_uint_eq(spool_room_below(RLIMIT_AS, 42 * MIB), 2 * MIB);
	ck_assert_uint_eq(spool_room_below(RLIMIT_AS, 42 * MIB - 16), 0);
	ck_assert_uint_eq(spool_room_below(RLIMIT_AS, MIB), 0);
}
END_TEST

START_TEST(a_small_control_group_is_a_limit)
{
	static const struct {
		const char *groups, *most, *now;
		uint64_t left;
	} rows[] = {
		{ "0::/mine\n", "536870912\n", "268435456\n", 256 * MIB },
		{ "4:cpu:/other\n1:x:/other\n0::/mine\n", "104857600", "4857600",
		  100000000 },
		{ "0::/mine\n", "max\n", "4096\n", UINT64_MAX },
		{ "0::/mine\n", "1073741824\n", "4096\n", UINT64_MAX },
		{ "0::/mine\n", "1073741823\n", "0\n", 1073741823 },
		{ "0::/mine\n", "536870912\n", "536870913\n", 0 },
		{ "0::/mine\n", "99999999999999999999999999\n", "1\n", UINT64_MAX },
		{ "4:memory:/mine\n", "536870912\n", "1\n", UINT64_MAX },
		{ "", "536870912\n", "1\n", UINT64_MAX },
	};

	seam = say_limits;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		groups = rows[i].groups;
		most = rows[i].most;
		now = rows[i].now;
		ck_assert_uint_eq(spool_group_limit(), rows[i].left);
	}
}
END_TEST

/* A service's limit is its slice's, or a container's whole. */
START_TEST(a_group_above_limits_as_well)
{
	seam = say_limits;
	groups = "0::/above/mine\n";
	most = "max\n";
	now = "2000\n";
	ck_assert_uint_eq(spool_group_limit(), UINT64_MAX);
	above = "104857600\n";
	ck_assert_uint_eq(spool_group_limit(), 104856600);
	root = "1001000\n";
	ck_assert_uint_eq(spool_group_limit(), 1000000);
	most = "3000\n";
	ck_assert_uint_eq(spool_group_limit(), 1000);
	groups = "0::/\n";
	ck_assert_uint_eq(spool_group_limit(), 1000000);
}
END_TEST

/* ---- smaller, for a moment or for good ---- */

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
	ck_assert_int_eq(unlink(spool.path), 0);
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
	ck_assert_uint_eq(atomic_load(&spool.head->limit), used + CHUNK_LARGE);
	while ((at = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1)))
		memset(chunk_at(at) + 1, 1, CHUNK_SMALL - sizeof(struct chunk));
	ck_assert_uint_eq(atomic_load(&spool.head->used), used + CHUNK_LARGE);
	ck_assert_uint_eq(*theirs, 42);
}
END_TEST

static bool shrink_first(long nr, const long a[6], long *result)
{
	(void)a;
	if (nr != SYS_madvise)
		return false;
	seam = NULL;
	spool_shrink(0);
	*result = -ENOMEM; /* what is asked for is not mapped now */
	return true;
}

/* Another thread locks its memory just when a chunk is to be populated. */
START_TEST(what_was_away_for_a_moment_is_no_full_disk)
{
	uint64_t limit;

	ck_assert_int_eq(spool_open(NULL, CAP), 0);
	limit = atomic_load(&spool.head->limit);
	seam = shrink_first;
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert_ptr_null(seam);
	spool_regrow();
	ck_assert_uint_eq(atomic_load(&spool.head->limit), limit);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
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

static bool silent;

static bool refuse_all(long nr, const long a[6], long *result)
{
	(void)nr;
	(void)a;
	*result = -EPERM;
	return silent;
}

/* Behind seccomp there are no pages but those that are there. */
START_TEST(a_confined_spool_ends_where_its_pages_do)
{
	char dir[] = "/tmp/unit-XXXXXX";
	uint64_t at, end;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	spool_confine(MIB);
	seam = refuse_all;
	silent = true;
	end = atomic_load(&spool.head->limit);
	ck_assert_uint_ge(end, MIB);
	ck_assert_uint_lt(end, CAP);
	ck_assert(spool_head_has(spool.base, SPOOL_HEADER));
	while ((at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1)))
		ck_assert_uint_le(at + CHUNK_LARGE, end);
	ck_assert_uint_eq(atomic_load(&spool.head->limit), end);
	silent = false;
}
END_TEST

START_TEST(who_is_free_again_has_the_room_of_before)
{
	char dir[] = "/tmp/unit-XXXXXX";
	uint64_t limit;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	spool_unconfine();
	limit = atomic_load(&spool.head->limit);
	for (unsigned i = 0; i < 2; i++) {
		spool_confine(MIB);
		ck_assert_uint_lt(atomic_load(&spool.head->limit), limit);
		spool_unconfine();
		ck_assert_uint_eq(atomic_load(&spool.head->limit), limit);
	}
	/* All of it was ready: there was nothing to take away, and nothing to give. */
	spool_confine(CAP);
	spool_share(2);
	limit = atomic_load(&spool.head->limit);
	spool_unconfine();
	ck_assert_uint_eq(atomic_load(&spool.head->limit), limit);
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
	TCase *tc = tcase_create("core room");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_test(tc, what_is_left_unknown_is_not_ours);
	tcase_add_test(tc, a_sixteenth_of_what_is_left_is_ours);
	tcase_add_test(tc, a_limit_on_files_is_the_spools_as_well);
	tcase_add_test(tc, a_limit_that_comes_later_leaves_as_much);
	tcase_add_test(tc, a_small_control_group_is_a_limit);
	tcase_add_test(tc, a_group_above_limits_as_well);
	tcase_add_test(tc, while_it_is_small_nothing_is_handed_out);
	tcase_add_test(tc, what_is_small_for_good_has_the_room_that_was_left);
	tcase_add_test(tc, what_has_large_pages_grows_again);
	tcase_add_test(tc, what_another_has_taken_is_not_taken_back);
	tcase_add_test(tc, what_was_away_for_a_moment_is_no_full_disk);
	tcase_add_test(tc, what_was_locked_is_not_locked_any_more);
	tcase_add_test(tc, a_confined_spool_ends_where_its_pages_do);
	tcase_add_test(tc, who_is_free_again_has_the_room_of_before);
	tcase_add_test(tc, without_a_spool_nothing_is_done);
	return unit_run(tc, "core room");
}
