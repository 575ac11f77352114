/* SPDX-License-Identifier: Apache-2.0 */
/* What is left in a job's folder when nobody writes there but recover. */
#include "launcher/recover/remains.h"
#include "tests/unit/salvage_folder.h"

#include <sys/stat.h>

#define AHEAD (1 << 20)

static void put_ahead(int fd)
{
	ck_assert_int_eq(posix_fallocate(fd, 0, (off_t)image->head->used + AHEAD), 0);
}

static blkcnt_t bytes_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_blocks * 512;
}

/* Who recorded nothing is no spool that could not be finished. */
START_TEST(only_what_was_recorded_counts)
{
	char path[1024];
	int fd;

	ck_assert_uint_eq(remains_count("/nowhere/at/all"), 0);
	ck_assert_uint_eq(remains_count(folder), 0);
	close(put_named(folder, "1.1.1.spool"));
	ck_assert_uint_eq(remains_count(folder), 0);
	fd = put_named(folder, "7.1.1.spool"); /* made as long as it may get, all hole */
	ck_assert_int_eq(ftruncate(fd, AHEAD), 0);
	close(fd);
	ck_assert_uint_eq(remains_count(folder), 0);
	close(put_spool(folder, "2.1.1.spool"));
	close(put_spool(folder, "3.1.1.spool"));
	close(put_spool(folder, "4.1.1.new"));
	close(put_spool(folder, ".spool"));
	fmt(path, sizeof(path), "%s/5.1.1.spool", folder);
	ck_assert_int_eq(symlink("2.1.1.spool", path), 0);
	fmt(path, sizeof(path), "%s/6.1.1.spool", folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_uint_eq(remains_count(folder), 2);
}
END_TEST

/* A process that goes on writes there at any time: no page of it goes. */
START_TEST(only_what_nobody_has_is_trimmed)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int gone = put_spool(folder, "2.1.1.spool"),
	    there = put_spool(folder, "3.1.1.spool");
	blkcnt_t used = bytes_of(gone), was;
	char text[8];

	put_ahead(gone);
	put_ahead(there);
	was = bytes_of(there);
	ck_assert_int_ge(was, used + AHEAD);
	ck_assert_int_eq(fcntl(there, F_OFD_SETLK, &whole), 0);
	remains_trim(folder);
	ck_assert_int_le(bytes_of(gone), used);
	ck_assert_int_eq(bytes_of(there), was);
	ck_assert_int_eq(pread(gone, text, 8, 0), 8);
	ck_assert(!memcmp(text, SPOOL_MAGIC, 8));
	close(gone);
	close(there);
}
END_TEST

/* Where a file system knows no locks a process that has it mapped is the sign. */
START_TEST(what_lives_without_a_lock_is_not_trimmed)
{
	char name[64];
	blkcnt_t was;
	void *map;
	int fd;

	fmt(name, sizeof(name), "%u.%lu.1.spool", sys_pid(), sys_start_time(sys_pid()));
	fd = put_spool(folder, name);
	put_ahead(fd);
	was = bytes_of(fd);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	remains_trim(folder);
	ck_assert_int_eq(bytes_of(fd), was);
	munmap(map, 4096);
	remains_trim(folder);
	ck_assert_int_lt(bytes_of(fd), was);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("remains");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, only_what_was_recorded_counts);
	tcase_add_test(tc, only_what_nobody_has_is_trimmed);
	tcase_add_test(tc, what_lives_without_a_lock_is_not_trimmed);
	return unit_run(tc, "remains");
}
