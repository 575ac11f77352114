/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are put together: room for each, and what comes of too little memory. */
#include <stdbool.h>
#include <stdlib.h>

static bool memory_is_short;

static void *scarce_realloc(void *p, size_t size)
{
	return memory_is_short ? NULL : realloc(p, size);
}
#define realloc scarce_realloc
#include "launcher/text.c"
#undef realloc

#include "tests/unit/unit.h"

/* Room behind which nothing may be written is looked at before anything is. */
static void put(struct text *t, const char *bytes, size_t len)
{
	size_t n = t->n;

	ck_assert(text_put(t, bytes, len));
	ck_assert_uint_eq(t->n, n + len);
	ck_assert_uint_le(t->n, t->room);
	ck_assert_mem_eq(t->mem + n, bytes, len);
}

static char piece[1 << 20];

/* A piece that just fits, that does not by one, that is longer than twice the room. */
START_TEST(each_piece_has_room)
{
	struct text t = { 0 };

	memset(piece, 'p', sizeof(piece));
	put(&t, "begin", 5);
	for (unsigned i = 0; i < 3; i++) {
		if (t.room > t.n)
			put(&t, piece, t.room - t.n);
		put(&t, "x", 1);
		put(&t, piece, t.room - t.n - 1);
		put(&t, "yz", 2);
	}
	t.n = t.room;
	put(&t, piece, sizeof(piece));
	ck_assert_mem_eq(t.mem, "begin", 5);
	ck_assert(!t.failed);
	free(t.mem);
}
END_TEST

START_TEST(a_text_that_failed_grows_no_more)
{
	struct text t = { 0 };
	char *mem;

	put(&t, "begin", 5);
	mem = t.mem;
	memory_is_short = true;
	ck_assert(!text_put(&t, piece, sizeof(piece)));
	ck_assert(t.failed);
	ck_assert_ptr_eq(t.mem, mem);
	ck_assert_mem_eq(t.mem, "begin", 5);
	memory_is_short = false;
	ck_assert(!text_put(&t, piece, sizeof(piece)));
	/* Nor what there is room for: it would stand where the lost part belongs. */
	ck_assert_uint_gt(t.room, 6);
	ck_assert(!text_put(&t, "y", 1));
	ck_assert(t.failed);
	ck_assert_uint_eq(t.n, 5);
	free(t.mem);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, each_piece_has_room);
	tcase_add_test(tc, a_text_that_failed_grows_no_more);
	return unit_run(tc, "text");
}
