/* SPDX-License-Identifier: Apache-2.0 */
/* How large the spool may be where memory is limited. */
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
static bool no_proc;

static bool say_limits(long nr, const long a[6], long *result)
{
	if (!seam_opens(nr, a, "/self/statm"))
		return false;
	*result = no_proc ? -ENOENT : seam_text(statm);
	return true;
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

/* The spool that is there is a part of what is mapped, and of the data where it is
 * private memory; the program has not taken it. */
START_TEST(a_spool_is_not_taken_from_itself)
{
	uint8_t base;

	seam = say_limits;
	spool.base = &base;
	spool.now = 4 * MIB;
	spool.kept = true;
	ck_assert_uint_eq(spool_room_below(RLIMIT_AS, 166 * MIB), 10 * MIB);
	ck_assert_uint_eq(spool_room_below(RLIMIT_DATA, 165 * MIB), 10 * MIB);
	spool.kept = false;
	ck_assert_uint_eq(spool_room_below(RLIMIT_DATA, 161 * MIB), 10 * MIB);
	spool.now = GIB; /* more than was mapped a moment ago */
	ck_assert_uint_eq(spool_room_below(RLIMIT_AS, 160 * MIB), 10 * MIB);
	no_proc = true;
	ck_assert_uint_eq(spool_room_below(RLIMIT_AS, 160 * MIB), 0);
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
	tcase_add_test(tc, a_spool_is_not_taken_from_itself);
	return unit_run(tc, "core room");
}
