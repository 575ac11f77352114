/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel asked as it is: each argument in its place, its answer whole, errno as it
 * was. */
#include "base/sys_call.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

START_TEST(six_arguments_arrive_in_their_order)
{
	long page = sysconf(_SC_PAGESIZE), got;
	int fd = memfd_create("call", MFD_CLOEXEC);
	char *at =
		mmap(NULL, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_int_eq(ftruncate(fd, 3 * page), 0);
	ck_assert_int_eq(pwrite(fd, "third", 5, 2 * page), 5);
	got = sys_raw(SYS_mmap, (long)at, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
		      2 * page);
	ck_assert_int_eq(got, (long)at);
	ck_assert_mem_eq(at, "third", 5);
	close(fd);
}
END_TEST

START_TEST(four_arguments_read_where_they_say)
{
	int fd = memfd_create("call", MFD_CLOEXEC);
	char text[8] = "";

	ck_assert_int_eq(write(fd, "abcdefgh", 8), 8);
	ck_assert_int_eq(SYS_CALL(SYS_pread64, fd, text, 3, 4), 3);
	ck_assert_str_eq(text, "efg");
	close(fd);
}
END_TEST

START_TEST(an_error_is_told_without_errno)
{
	errno = 4711;
	ck_assert_int_eq(SYS_CALL(SYS_close, -1), -EBADF);
	ck_assert_int_eq(SYS_CALL(SYS_openat, AT_FDCWD, "/no/such/file", O_RDONLY),
			 -ENOENT);
	ck_assert_int_eq(SYS_CALL(SYS_getpid), getpid());
	ck_assert_int_eq(errno, 4711);
}
END_TEST

/* Addresses and sizes have more than 32 bits. */
START_TEST(an_answer_is_a_word)
{
	int fd = memfd_create("call", MFD_CLOEXEC);
	long far = 5l << 32 | 7;

	ck_assert_int_eq(SYS_CALL(SYS_lseek, fd, far, SEEK_SET), far);
	close(fd);
}
END_TEST

START_TEST(who_has_confined_himself_is_not_asked_for)
{
	sys_confined = true;
	ck_assert_int_eq(SYS_CALL(SYS_getpid), -EPERM);
	sys_confined = false;
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("sys_call");

	tcase_add_test(tc, six_arguments_arrive_in_their_order);
	tcase_add_test(tc, four_arguments_read_where_they_say);
	tcase_add_test(tc, an_error_is_told_without_errno);
	tcase_add_test(tc, an_answer_is_a_word);
	tcase_add_test(tc, who_has_confined_himself_is_not_asked_for);
	return unit_run(tc, "sys_call");
}
