/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/chunk.h"
#include "agent/core/spool_view.h"
#include "base/sys.h"
#include "tests/unit/unit.h"
#include "writer/read.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In the place of libc's: the kernel has no memory left. */
static bool no_memory;
void *mremap(void *old, size_t had, size_t want, int flags, ...)
{
	return no_memory ? (errno = ENOMEM, MAP_FAILED)
			 : (void *)syscall(SYS_mremap, old, had, want, flags, 0);
}

/* What there is stays, and the program's errno does. */
START_TEST(without_memory_it_is_as_it_was)
{
	struct pile p = { 0 };
	uint64_t *at;
	size_t n;

	errno = 7777;
	sys_no_maps = true;
	ck_assert_ptr_null(pile_push(&p, sizeof(*at)));
	sys_no_maps = false;
	ck_assert_int_eq(errno, 7777);
	for (no_memory = true; (at = pile_push(&p, sizeof(*at)));)
		*at = p.n;
	ck_assert_int_eq(errno, 7777);
	n = p.n;
	ck_assert_uint_gt(n, 1000);
	ck_assert_ptr_null(pile_push(&p, sizeof(*at)));
	ck_assert_uint_eq(p.n, n);
	no_memory = false;
	at = pile_push(&p, sizeof(*at));
	ck_assert_ptr_nonnull(at);
	ck_assert_uint_eq(*at, 0);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(((uint64_t *)p.mem)[i], i + 1);
	ck_assert_int_eq(errno, 7777);
	pile_free(&p);
	ck_assert_int_eq(errno, 7777);
}
END_TEST

/* More chunks than the first pile of them has room for. */
START_TEST(an_index_that_has_no_room_leaves_nothing)
{
	enum { CHUNKS = 65536 / 16 + 1 };
	size_t size = SPOOL_HEADER + CHUNKS * CHUNK_SMALL;
	struct spool_header *head = sys_map(size);
	struct spool_view v = { .base = (uint8_t *)head, .head = head, .size = size };
	struct read_index ix;

	ck_assert_ptr_nonnull(head);
	head->used = size;
	for (size_t i = 0; i < CHUNKS; i++)
		*(struct chunk *)((uint8_t *)head + SPOOL_HEADER + i * CHUNK_SMALL) =
			(struct chunk){ .magic = CHUNK_MAGIC,
					.size = CHUNK_SMALL,
					.used = sizeof(struct chunk),
					.kind = CHUNK_DATA,
					.cycle = 1 };
	no_memory = true;
	ck_assert_int_eq(index_make(&ix, &v), -ENOMEM);
	ck_assert_ptr_null(ix.chunks.mem);
	no_memory = false;
	ck_assert_int_eq(index_make(&ix, &v), 0);
	ck_assert_uint_eq(ix.chunks.n, CHUNKS);
	index_free(&ix);
	munmap(head, size);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("pile");

	tcase_add_test(tc, without_memory_it_is_as_it_was);
	tcase_add_test(tc, an_index_that_has_no_room_leaves_nothing);
	return unit_run(tc, "writer pile");
}
