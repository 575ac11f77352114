/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a directory has room, found out without a trace, and without an end. */
#include "launcher/room.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <sys/resource.h>

static char dir[32];

static void begin(void)
{
	strcpy(dir, "/tmp/room-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

START_TEST(nothing_is_left_of_a_try)
{
	ck_assert_int_eq(room_try(dir), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(room_try(dir), -ENOENT);
}
END_TEST

/* The kernel ends who writes beyond it. */
START_TEST(a_limit_is_asked_before)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 1024;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(room_try(dir), -EFBIG);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static bool is_full(long nr, const long a[6], long *result)
{
	*result = -ENOSPC;
	return nr == SYS_write && a[2];
}

START_TEST(a_full_disk_has_no_room)
{
	int err;

	seam = is_full;
	err = room_try(dir);
	seam = NULL;
	ck_assert_int_eq(err, -ENOSPC);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("room");

	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, nothing_is_left_of_a_try);
	tcase_add_test(tc, a_limit_is_asked_before);
	tcase_add_test(tc, a_full_disk_has_no_room);
	return unit_run(tc, "room");
}
