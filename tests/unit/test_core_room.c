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
	return unit_run(tc, "core room");
}
