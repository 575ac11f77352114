/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/fmt.h"
#include "base/sys.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

START_TEST(formats_like_printf)
{
	char ours[128], libc[128];

	fmt(ours, sizeof(ours), "%s %d %u %lu %ld %x %lx %c %% %.*s", "a", INT_MIN,
	    UINT_MAX, ULONG_MAX, LONG_MIN, 0xbeefu, 0xdeadbeefcafeul, 'z', 3, "abcdef");
	snprintf(libc, sizeof(libc), "%s %d %u %lu %ld %x %lx %c %% %.*s", "a", INT_MIN,
		 UINT_MAX, ULONG_MAX, LONG_MIN, 0xbeefu, 0xdeadbeefcafeul, 'z', 3,
		 "abcdef");
	ck_assert_str_eq(ours, libc);
}
END_TEST

START_TEST(odd_formats_are_read_to_their_end)
{
	const char *volatile percent = "100%", *volatile odd = "%q%";
	size_t (*const unchecked)(char *, size_t, const char *, ...) = fmt;
	char buf[32];

	ck_assert_uint_eq(unchecked(buf, sizeof(buf), percent, 0), 3);
	ck_assert_str_eq(buf, "100");
	ck_assert_uint_eq(unchecked(buf, sizeof(buf), odd, 0), 1);
	ck_assert_str_eq(buf, "?");
	fmt(buf, sizeof(buf), "%.*s|%.*s|%.*s", -1, "all", 0, "none", 9, "short");
	ck_assert_str_eq(buf, "all||short");
	fmt(buf, sizeof(buf), "%d %ld", -7, -7000000000l);
	ck_assert_str_eq(buf, "-7 -7000000000");
	ck_assert_uint_eq(fmt(buf, 1, "%s", "x"), 1);
	ck_assert_str_eq(buf, "");
}
END_TEST

START_TEST(cuts_and_says_the_full_length)
{
	char buf[4];

	ck_assert_uint_eq(fmt(buf, sizeof(buf), "%s", "abcdef"), 6);
	ck_assert_str_eq(buf, "abc");
	ck_assert_uint_eq(fmt(NULL, 0, "%u", 12345u), 5);
}
END_TEST

START_TEST(a_null_text_is_shown_not_followed)
{
	char buf[16];
	const char *volatile none = NULL;

	fmt(buf, sizeof(buf), "%s", none);
	ck_assert_str_eq(buf, "(null)");
}
END_TEST

START_TEST(arena_blocks_are_zeroed_aligned_and_apart)
{
	uint8_t *last = NULL;

	for (size_t size = 1; size < 200000; size = size * 3 + 1) {
		uint8_t *p = arena_alloc(size);

		ck_assert_ptr_nonnull(p);
		ck_assert_uint_eq((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			if (p[i])
				ck_abort_msg("not zeroed");
		memset(p, 0xff, size);
		ck_assert(p != last);
		last = p;
	}
}
END_TEST

START_TEST(arena_refuses_what_cannot_be)
{
	ck_assert_ptr_null(arena_alloc(SIZE_MAX));
	ck_assert_ptr_null(arena_alloc(SIZE_MAX / 2 + 1));
}
END_TEST

static void *take_many(void *arg)
{
	uint64_t **mine = arg;

	for (uint64_t i = 0; i < 2000; i++) {
		mine[i] = arena_alloc(64);
		if (mine[i])
			mine[i][0] = (uint64_t)(uintptr_t)mine ^ i;
	}
	return NULL;
}

START_TEST(arena_gives_no_block_to_two_threads)
{
	static uint64_t *blocks[8][2000];
	pthread_t threads[8];
	unsigned wrong = 0;

	for (int t = 0; t < 8; t++)
		pthread_create(&threads[t], NULL, take_many, blocks[t]);
	for (int t = 0; t < 8; t++)
		pthread_join(threads[t], NULL);
	for (int t = 0; t < 8; t++)
		for (uint64_t i = 0; i < 2000; i++)
			wrong += !blocks[t][i] ||
				 blocks[t][i][0] != ((uint64_t)(uintptr_t)blocks[t] ^ i);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(error_texts_are_those_of_the_c_library)
{
	static const int errs[] = { EPERM, ENOENT, EACCES, ENOSPC,
				    EROFS, EFBIG,  EMFILE, ENOMEM };

	for (size_t i = 0; i < sizeof(errs) / sizeof(*errs); i++) {
		ck_assert_str_eq(sys_error(errs[i]), strerror(errs[i]));
		ck_assert_str_eq(sys_error(-errs[i]), strerror(errs[i]));
	}
}
END_TEST

START_TEST(sys_keeps_errno_and_gives_it_back)
{
	struct sys_stat st;
	uint32_t parent;
	uint64_t start;

	errno = 4711;
	ck_assert_int_eq(sys_stat("/no/such/file", &st), -ENOENT);
	ck_assert_int_eq(sys_open("/no/such/file", 0, 0), -ENOENT);
	ck_assert_int_eq(errno, 4711);
	ck_assert_int_eq(sys_identity(0, &parent, &start), 0);
	ck_assert_uint_eq(parent, (uint32_t)getppid());
	ck_assert_uint_ne(start, 0);
	ck_assert_uint_eq(sys_start_time(sys_pid()), start);
}
END_TEST

START_TEST(mkdirs_makes_the_whole_path_and_refuses_a_file)
{
	char dir[] = "/tmp/unit-XXXXXX", path[64];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	fmt(path, sizeof(path), "%s/a/b/c", dir);
	ck_assert_int_eq(sys_mkdirs(path, 0700), 0);
	ck_assert_int_eq(sys_mkdirs(path, 0700), 0);
	ck_assert_int_eq(sys_mkdirs("/dev/null/x", 0700), -ENOTDIR);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core text");

	tcase_add_test(tc, formats_like_printf);
	tcase_add_test(tc, odd_formats_are_read_to_their_end);
	tcase_add_test(tc, cuts_and_says_the_full_length);
	tcase_add_test(tc, a_null_text_is_shown_not_followed);
	tcase_add_test(tc, arena_blocks_are_zeroed_aligned_and_apart);
	tcase_add_test(tc, arena_refuses_what_cannot_be);
	tcase_add_test(tc, arena_gives_no_block_to_two_threads);
	tcase_add_test(tc, error_texts_are_those_of_the_c_library);
	tcase_add_test(tc, sys_keeps_errno_and_gives_it_back);
	tcase_add_test(tc, mkdirs_makes_the_whole_path_and_refuses_a_file);
	return unit_run(tc, "core text");
}
