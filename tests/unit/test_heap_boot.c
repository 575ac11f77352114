/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/heap/boot.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

/* Each test is a process of its own: the arena is empty. */

START_TEST(a_block_is_aligned_zero_and_known_by_its_address)
{
	uint8_t *p = boot_malloc(100);

	ck_assert(boot_owns(p));
	ck_assert(boot_owns(p + 99));
	ck_assert_uint_eq((uintptr_t)p % 16, 0);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_uint_eq(p[i], 0);
	ck_assert(!boot_owns(NULL));
	ck_assert(!boot_owns(&p));
	ck_assert(!boot_owns(boot_memory - 1));
	ck_assert(!boot_owns(boot_memory + BOOT_SIZE));
}
END_TEST

START_TEST(its_usable_size_is_what_was_asked_for)
{
	ck_assert_uint_eq(boot_usable(boot_malloc(0)), 0);
	ck_assert_uint_eq(boot_usable(boot_malloc(1)), 1);
	ck_assert_uint_eq(boot_usable(boot_calloc(3, 7)), 21);
	ck_assert_uint_eq(boot_usable(boot_memalign(256, 5)), 5);
}
END_TEST

START_TEST(blocks_do_not_touch)
{
	uint8_t *a = boot_malloc(17), *b = boot_malloc(1), *c = boot_memalign(64, 3);

	memset(a, 1, 17);
	memset(b, 2, 1);
	memset(c, 3, 3);
	ck_assert_uint_eq(boot_usable(a), 17);
	ck_assert_uint_eq(boot_usable(b), 1);
	ck_assert_uint_eq(boot_usable(c), 3);
	ck_assert_uint_eq(a[16], 1);
	ck_assert_uint_eq(b[0], 2);
}
END_TEST

START_TEST(calloc_refuses_a_product_that_overflows)
{
	errno = 0;
	ck_assert_ptr_null(boot_calloc(SIZE_MAX / 2, 3));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_ptr_null(boot_calloc((size_t)1 << 33, (size_t)1 << 33));
	ck_assert_ptr_null(
		boot_calloc(SIZE_MAX / 16 + 2, 16)); /* 16 bytes, if it wrapped */
	ck_assert_ptr_nonnull(boot_calloc(0, SIZE_MAX));
}
END_TEST

START_TEST(realloc_grows_and_shrinks_and_keeps_what_is_there)
{
	char *p = boot_realloc(NULL, 10), *q;

	memcpy(p, "123456789", 10);
	q = boot_realloc(p, 1000);
	ck_assert(boot_owns(q));
	ck_assert_str_eq(q, "123456789");
	ck_assert_uint_eq(boot_usable(q), 1000);
	ck_assert_ptr_ne(boot_realloc(p, 11), p); /* the next one begins there */
	ck_assert_ptr_eq(boot_realloc(q, 4), q);
	ck_assert_int_eq(memcmp(q, "1234", 4), 0);
	errno = 0;
	ck_assert_ptr_null(boot_realloc(q, BOOT_SIZE + 1));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(memcmp(q, "1234", 4), 0);
}
END_TEST

START_TEST(posix_memalign_says_what_is_wrong_and_leaves_errno)
{
	void *const mark = &errno;
	void *p = mark;

	errno = 77;
	ck_assert_int_eq(boot_posix_memalign(&p, 0, 8), EINVAL);
	ck_assert_int_eq(boot_posix_memalign(&p, 4, 8), EINVAL);
	ck_assert_int_eq(boot_posix_memalign(&p, 24, 8), EINVAL);
	ck_assert_int_eq(boot_posix_memalign(&p, 64, BOOT_SIZE), ENOMEM);
	ck_assert_ptr_eq(p, mark);
	ck_assert_int_eq(boot_posix_memalign(&p, 1024, 8), 0);
	ck_assert_uint_eq((uintptr_t)p % 1024, 0);
	ck_assert_int_eq(errno, 77);
}
END_TEST

/* Where all of the arena is free, too: no sum of sizes may begin anew at zero. */
START_TEST(no_size_is_too_large_to_be_refused)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 8, SIZE_MAX - 16, BOOT_SIZE,
					BOOT_SIZE - 15 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		errno = 0;
		ck_assert_ptr_null(boot_malloc(sizes[i]));
		ck_assert_int_eq(errno, ENOMEM);
		ck_assert_ptr_null(boot_calloc(1, sizes[i]));
		ck_assert_ptr_null(boot_memalign(4096, sizes[i]));
	}
	ck_assert_ptr_null(boot_memalign(8192, 1));
	ck_assert_uint_eq(boot_used(), 0);
	ck_assert_ptr_nonnull(boot_malloc(BOOT_SIZE - 16));
	ck_assert_uint_eq(boot_used(), BOOT_SIZE);
}
END_TEST

START_TEST(it_ends_without_harm)
{
	unsigned n = 0;

	while (boot_malloc(1000))
		n++;
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_uint_ge(n, 250);
	ck_assert_uint_le(n, BOOT_SIZE / 1000);
	ck_assert_ptr_null(boot_malloc(SIZE_MAX));
	ck_assert_ptr_null(boot_malloc(SIZE_MAX - 8));
	ck_assert_ptr_null(boot_memalign((size_t)1 << 40, 1));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap_boot");

	tcase_add_test(tc, a_block_is_aligned_zero_and_known_by_its_address);
	tcase_add_test(tc, its_usable_size_is_what_was_asked_for);
	tcase_add_test(tc, blocks_do_not_touch);
	tcase_add_test(tc, calloc_refuses_a_product_that_overflows);
	tcase_add_test(tc, realloc_grows_and_shrinks_and_keeps_what_is_there);
	tcase_add_test(tc, posix_memalign_says_what_is_wrong_and_leaves_errno);
	tcase_add_test(tc, no_size_is_too_large_to_be_refused);
	tcase_add_test(tc, it_ends_without_harm);
	return unit_run(tc, "heap_boot");
}
