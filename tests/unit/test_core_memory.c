/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: refused, populated, given back. */
#include "base/arena.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/mman.h>

static size_t mapped_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	ck_assert_int_eq(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages;
}

START_TEST(a_map_for_large_pages_begins_at_one)
{
	size_t before = mapped_pages();

	for (size_t i = 1; i < 20; i++) {
		size_t size = i * 300 * 4096;
		char *p = sys_map_for_large(size);

		ck_assert_uint_eq((uintptr_t)p % (2 << 20), 0);
		p[0] = p[size - 1] = 1;
		ck_assert_uint_le(mapped_pages() - before, i * 300 + 64);
		ck_assert_int_eq(munmap(p, size), 0);
	}
	sys_no_maps = true;
	ck_assert_ptr_null(sys_map_for_large(4096));
	ck_assert_ptr_null(sys_map_large(4096));
}
END_TEST

/* The kernel has none to give: that is the caller's matter, and not the program's. */
START_TEST(what_is_refused_leaves_errno)
{
	errno = 4711;
	ck_assert_ptr_null(sys_map(SIZE_MAX / 2));
	ck_assert_ptr_null(sys_map_for_large(SIZE_MAX / 2));
	ck_assert_int_eq(errno, 4711);
}
END_TEST

static long touch_says;

static bool answer_touch(long nr, const long a[6], long *result)
{
	*result = touch_says;
	return nr == SYS_madvise && a[2] == 23 /* MADV_POPULATE_WRITE */;
}

START_TEST(what_is_populated_keeps_what_is_there)
{
	uint64_t *pages = sys_map(3 * 4096);

	seam = answer_touch;
	touch_says = -EINVAL; /* before Linux 5.14 */
	pages[0] = pages[1024] = 0x1122334455667788;
	ck_assert_int_eq(sys_touch(pages, 3 * 4096), 0);
	ck_assert_uint_eq(pages[0], 0x1122334455667788);
	ck_assert_uint_eq(pages[1024], 0x1122334455667788);
	/* What is refused is not written to. */
	ck_assert_int_eq(mprotect(pages, 4096, PROT_NONE), 0);
	touch_says = -EFAULT;
	ck_assert_int_eq(sys_touch(pages, 4096), -EFAULT);
	touch_says = -ENOMEM;
	ck_assert_int_eq(sys_touch(pages, 4096), -ENOMEM);
	ck_assert(!sys_populates(pages));
	touch_says = 0;
	ck_assert(sys_populates(pages));
}
END_TEST

START_TEST(memory_that_was_refused_is_asked_for_again)
{
	static const size_t large = 3 << 20;
	char *p;

	sys_no_maps = true;
	ck_assert_ptr_null(arena_alloc(large));
	ck_assert_ptr_null(arena_alloc(large));
	sys_no_maps = false;
	p = arena_alloc(large);
	ck_assert_ptr_nonnull(p);
	memset(p, 1, large);
	ck_assert_ptr_nonnull(arena_alloc(large - 4096));
}
END_TEST

static void (*meanwhile)(void);

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void (*call)(void) = meanwhile;
	long p;

	meanwhile = NULL;
	if (call)
		call();
	p = seam_kernel(SYS_mmap,
			(long[6]){ (long)at, (long)size, prot, flags, fd, offset });
	errno = p < 0 && p > -4096 ? (int)-p : errno;
	return p < 0 && p > -4096 ? MAP_FAILED : (void *)p;
}

static char *others;

static void take_meanwhile(void)
{
	others = arena_alloc(700 << 10);
	memset(others, 7, 700 << 10);
}

/* A handler of the thread that maps; or another thread, while that one has no processor.
 */
START_TEST(who_needs_memory_while_another_maps_some_does_not_wait)
{
	size_t before = mapped_pages();
	char *mine;

	meanwhile = take_meanwhile;
	mine = arena_alloc(200 << 10);
	ck_assert_ptr_nonnull(others);
	ck_assert_ptr_nonnull(mine);
	memset(mine, 1, 200 << 10);
	ck_assert_int_eq(others[0] + others[(700 << 10) - 1], 14);
	ck_assert_uint_le(mapped_pages() - before, 256 + 8); /* one block */
}
END_TEST

static void count(void *arg)
{
	++*(unsigned *)arg;
	errno = 4711;
}

START_TEST(a_roomy_stack_goes_when_its_call_returns)
{
	unsigned calls = 0;
	size_t before;

	roomy_call(count, &calls);
	before = mapped_pages();
	for (int i = 0; i < 100; i++)
		roomy_call(count, &calls);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_lt(mapped_pages(), before + 64);
	sys_no_maps = true;
	roomy_call(count, &calls); /* on what there is */
	ck_assert_uint_eq(calls, 102);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core memory");

	tcase_add_test(tc, a_map_for_large_pages_begins_at_one);
	tcase_add_test(tc, what_is_refused_leaves_errno);
	tcase_add_test(tc, what_is_populated_keeps_what_is_there);
	tcase_add_test(tc, memory_that_was_refused_is_asked_for_again);
	tcase_add_test(tc, who_needs_memory_while_another_maps_some_does_not_wait);
	tcase_add_test(tc, a_roomy_stack_goes_when_its_call_returns);
	return unit_run(tc, "core memory");
}
