/* SPDX-License-Identifier: Apache-2.0 */
/* Space of the spool: made ready ahead, and given back. */
#include "agent/core/spool.h"
#include "agent/core/sys.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void open_spool(void)
{
	char dir[] = "/tmp/unit-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, 64 << 20), 0);
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
}

static uint64_t on_disk(void)
{
	struct sys_stat st;

	ck_assert_int_eq(sys_fstat(spool.fd, &st), 0);
	return st.blocks * 512;
}

static unsigned chunks_to_be_read(void)
{
	struct spool_view v;
	uint64_t at = 0;
	unsigned n = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	for (const struct chunk *c; (c = spool_view_next(&v, &at));)
		n += c->kind == CHUNK_DATA;
	return n;
}

/* Who takes the chunk after half of what was made ready says so, once. */
START_TEST(it_is_told_once_that_more_is_needed)
{
	unsigned told = 0, chunks = 0;

	open_spool();
	while (atomic_load(&spool.head->used) < SPOOL_HEADER + (4 << 20)) {
		chunks += chunk_take(CHUNK_DATA, CHUNK_LARGE, 1) != 0;
		told += spool_low();
	}
	ck_assert_uint_eq(told, 1);
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
	ck_assert(!spool_low());
	while (!spool_low())
		chunks += chunk_take(CHUNK_DATA, CHUNK_LARGE, 1) != 0;
	/* Nobody has waited, or has been refused. */
	ck_assert_uint_eq(chunks * CHUNK_LARGE,
			  atomic_load(&spool.head->used) - SPOOL_HEADER);
}
END_TEST

/* As a file system does that has promised too much: the file ends before it. */
START_TEST(what_cannot_be_written_is_not_handed_out)
{
	char dir[] = "/tmp/unit-XXXXXX";
	uint64_t end, at;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, 8 << 20), 0); /* all reserved at once */
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
	end = atomic_load(&spool.head->ready) + (1 << 20);
	ck_assert_uint_lt(end, atomic_load(&spool.head->reserved));
	ck_assert_int_eq(ftruncate(spool.fd, (off_t)end), 0);
	while (!spool_low())
		ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert_int_eq(spool_prepare(4 << 20), -ENOSPC);
	while ((at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1))) {
		ck_assert_uint_le(at + CHUNK_LARGE, end);
		memset(chunk_at(at) + 1, 1, CHUNK_LARGE - sizeof(struct chunk));
	}
	ck_assert_int_eq(spool_prepare(4 << 20), 0); /* no more, and nothing wrong */
}
END_TEST

/* What 10,000 children leave until they are swept must not fill a disk. */
START_TEST(a_closed_spool_gives_its_rest_back)
{
	uint64_t before, after;

	open_spool();
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	before = on_disk();
	ck_assert_uint_ge(before, spool.head->reserved);
	ck_assert_uint_ge(before, 8 << 20);
	spool_close();
	after = on_disk();
	ck_assert_uint_le(after, 256 * 1024);
	/* Threads that are not ended yet have a little room. */
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	ck_assert_int_eq(spool_prepare(1 << 20), 0); /* a keeper that comes late ... */
	ck_assert_uint_eq(on_disk(), after); /* ... takes nothing */
	ck_assert_uint_eq(chunks_to_be_read(), 3);
	spool_close();
	ck_assert_uint_eq(chunks_to_be_read(), 3);
}
END_TEST

/* A child's own begins anew, and small. */
START_TEST(a_child_reserves_little)
{
	open_spool();
	ck_assert_uint_ge(spool.head->reserved, 32 << 20);
	spool_close();
	spool_forget();
	open_spool();
	ck_assert_uint_le(spool.head->reserved, 6 << 20);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core reserve");

	tcase_add_test(tc, it_is_told_once_that_more_is_needed);
	tcase_add_test(tc, what_cannot_be_written_is_not_handed_out);
	tcase_add_test(tc, a_closed_spool_gives_its_rest_back);
	tcase_add_test(tc, a_child_reserves_little);
	return unit_run(tc, "core reserve");
}
