/* SPDX-License-Identifier: Apache-2.0 */
/* The spool where system calls are refused: by the program itself, or around it. */
#include "agent/core/chunk.h"
#include "tests/unit/seam.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MIB (1ull << 20)
#define CAP (4u << 20)

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

/* A sandbox around the program. */
static bool refuse_writing(long nr, const long a[6], long *result)
{
	*result = -EPERM;
	return nr == SYS_mprotect && a[2] & PROT_WRITE;
}

START_TEST(pages_that_may_not_be_written_are_no_spool)
{
	char dir[] = "/tmp/unit-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	seam = refuse_writing;
	ck_assert_int_eq(spool_place(dir, CAP), -EPERM);
	ck_assert_ptr_null(spool.base);
	ck_assert_str_eq(spool_path, "");
	seam = NULL;
	ck_assert_int_eq(spool_place(dir, CAP), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core confined");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_test(tc, a_confined_spool_ends_where_its_pages_do);
	tcase_add_test(tc, who_is_free_again_has_the_room_of_before);
	tcase_add_test(tc, pages_that_may_not_be_written_are_no_spool);
	return unit_run(tc, "core confined");
}
