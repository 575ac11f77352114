/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: given and taken again, and read where the spool is damaged. */
#include "agent/core/counters.h"
#include "agent/core/names.h"
#include "agent/core/spool_view.h"
#include "tests/unit/emit_bench.h"
#include "tests/unit/seam.h"

#include <fcntl.h>
#include <sys/mman.h>

#define CAP (1 << 20)

static unsigned chunks_of(enum chunk_kind kind)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;
	unsigned n = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at)))
		n += c->kind == kind;
	return n;
}

START_TEST(a_chunk_used_again_is_as_a_new_one)
{
	uint64_t at, size = 0;

	bench_open(0, CAP);
	at = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	atomic_store(&chunk_at(at)->taken, 1);
	atomic_store(&chunk_at(at)->used, 4000);
	chunk_give(at);
	ck_assert_uint_eq(chunks_of(CHUNK_FREE), 1);
	ck_assert_uint_eq(chunks_of(CHUNK_DATA), 0);
	ck_assert_uint_eq(chunk_take(CHUNK_CUDA, CHUNK_SMALL, 2), at);
	ck_assert_uint_eq(chunk_at(at)->cycle, 2);
	ck_assert_uint_eq(chunk_at(at)->taken, 0);
	ck_assert_uint_eq(chunk_at(at)->used, sizeof(struct chunk));
	ck_assert_uint_eq(chunk_at(at)->kind, CHUNK_CUDA);
	/* At the cap a larger one serves, and stays what it is. */
	while ((at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1)))
		size = at;
	while (chunk_take(CHUNK_DATA, CHUNK_SMALL, 1))
		;
	chunk_give(size);
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), size);
	ck_assert_uint_eq(chunk_at(size)->size, CHUNK_LARGE);
	chunk_give(size);
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), size);
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_LARGE + 1, 1), 0);
}
END_TEST

START_TEST(nothing_is_handed_out_beyond_a_limit)
{
	uint64_t at;

	bench_open(0, CAP);
	*(_i ? &spool.head->limit : &spool.head->reserved) =
		SPOOL_HEADER + 3 * CHUNK_LARGE;
	while ((at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1)))
		ck_assert_uint_le(at + CHUNK_LARGE, SPOOL_HEADER + 3 * CHUNK_LARGE);
	ck_assert_uint_eq(atomic_load(&spool.head->used), SPOOL_HEADER + 3 * CHUNK_LARGE);
}
END_TEST

static long asked_from;

static bool note_touch(long nr, const long a[6], long *result)
{
	(void)result;
	if (nr == SYS_madvise && a[2] == 23)
		asked_from = (long)((uint8_t *)a[0] - spool.base);
	return false;
}

/* A chunk that begins where what is ready ends, or in it, is asked for. */
START_TEST(a_chunk_is_populated_before_it_is_used)
{
	bench_open(0, CAP);
	spool.head->ready = SPOOL_HEADER + _i * CHUNK_SMALL;
	seam = note_touch;
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), SPOOL_HEADER);
	ck_assert_int_eq(asked_from, SPOOL_HEADER);
}
END_TEST

START_TEST(a_child_has_no_chunks_of_its_parents)
{
	uint64_t at = 0;

	bench_open(0, CAP);
	for (int i = 0; i < 40; i++)
		at = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	chunk_give(at);
	spool_forget();
	bench_open(0, CAP);
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), SPOOL_HEADER);
}
END_TEST

/* All that share a kind of chunk have cap / share of the spool. */
START_TEST(a_share_of_the_spool_is_for_others)
{
	struct chunk_fill fill = { 0 };
	uint64_t bytes = 0;

	bench_open(0, 4 << 20);
	while (chunk_room(&fill, CHUNK_NAMES, 4000, 4))
		bytes += 4000;
	ck_assert_uint_gt(bytes, (1 << 20) * 8 / 10);
	ck_assert_uint_le(bytes, 1 << 20);
	ck_assert_uint_eq(chunk_room(&fill, CHUNK_NAMES, CHUNK_LARGE, 4), 0);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
}
END_TEST

/* ---- damaged ---- */

static struct spool_view view;

/* The spool's file to its end, and behind it nothing that can be read. */
static struct spool_header *copy_before_nothing(uint64_t size)
{
	uint8_t *base = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(base, MAP_FAILED);
	memcpy(base, spool.base, size);
	ck_assert_int_eq(mprotect(base + size, 4096, PROT_NONE), 0);
	ck_assert_int_eq(spool_view_init(&view, base, size), 0);
	return (struct spool_header *)base;
}

static unsigned walk(void)
{
	const struct chunk *c;
	uint64_t at = 0;
	unsigned n = 0;

	while ((c = spool_view_next(&view, &at))) {
		ck_assert_uint_le(c->used, c->size);
		ck_assert((const uint8_t *)c + c->size <= view.base + view.size);
		n++;
	}
	return n;
}

START_TEST(a_damaged_chunk_is_stepped_over)
{
	static const uint32_t sizes[] = { 0, 64, 4095, 4097, 5000, 69632, UINT32_MAX };
	uint64_t size = SPOOL_HEADER + 4 * CHUNK_SMALL;
	struct chunk *second, *last;
	struct spool_header *h;

	bench_open(0, CAP);
	for (int i = 0; i < 4; i++)
		chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	h = copy_before_nothing(size);
	second = (struct chunk *)(view.base + SPOOL_HEADER + CHUNK_SMALL);
	last = (struct chunk *)(view.base + size - CHUNK_SMALL);
	ck_assert_uint_eq(walk(), 4);
	h->used = UINT64_MAX;
	ck_assert_uint_eq(walk(), 4);
	second->used = CHUNK_SMALL + 1;
	ck_assert_uint_eq(walk(), 3);
	second->used = CHUNK_SMALL;
	ck_assert_uint_eq(walk(), 4);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		second->size = sizes[i];
		second->used = 0;
		ck_assert_uint_eq(walk(), 3);
	}
	last->size = 4 * CHUNK_SMALL;
	ck_assert_uint_eq(walk(), 2);
}
END_TEST

START_TEST(a_spool_of_another_kind_is_not_read)
{
	struct spool_header *h;

	bench_open(0, CAP);
	h = copy_before_nothing(SPOOL_HEADER);
	ck_assert_int_eq(spool_view_init(&view, h, SPOOL_HEADER), 0);
	ck_assert_int_eq(spool_view_init(&view, h, SPOOL_HEADER - 1), -EINVAL);
	h->version++;
	ck_assert_int_eq(spool_view_init(&view, h, SPOOL_HEADER), -EINVAL);
	h->version--;
	h->header_size /= 2;
	ck_assert_int_eq(spool_view_init(&view, h, SPOOL_HEADER), -EINVAL);
	h->header_size = SPOOL_HEADER;
	h->magic[7]++;
	ck_assert_int_eq(spool_view_init(&view, h, SPOOL_HEADER), -EINVAL);
}
END_TEST

/* ---- counters ---- */

START_TEST(each_thread_that_counted_is_in_the_sum)
{
	uint64_t sum[SPOOL_COUNTERS], at;

	counters_sum(sum);
	ck_assert_uint_eq(sum[0], 0);
	ck_assert_ptr_null(counters_take()); /* no spool */
	bench_open(0, CAP);
	at = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	memset(chunk_at(at) + 1, 0x77, CHUNK_SMALL - sizeof(struct chunk));
	chunk_give(at);
	for (int i = 0; i < 200; i++) {
		struct spool_counters *c = counters_take();

		ck_assert_ptr_nonnull(c);
		for (int k = 0; k < SPOOL_COUNTERS; k++)
			atomic_fetch_add(&c->sum[k], (uint64_t)k + 1);
	}
	for (int again = 0; again < 2; again++) {
		counters_sum(sum);
		for (uint64_t k = 0; k < SPOOL_COUNTERS; k++)
			ck_assert_uint_eq(sum[k], 200 * (k + 1));
	}
	ck_assert_uint_eq(chunks_of(CHUNK_COUNTERS), 4); /* of 63 each */
}
END_TEST

/* ---- names ---- */

static const struct name *name_of(uint32_t id)
{
	ck_assert_int_eq(spool_view_init(&view, spool.base, spool.cap), 0);
	return names_get(&view, id);
}

START_TEST(a_long_name_is_cut_and_no_other)
{
	static char text[100000], other[100000];
	const struct name *n;
	uint32_t id;

	memset(text, 'x', sizeof(text));
	memset(other, 'y', sizeof(other));
	bench_open(0, 4 << 20);
	id = names_add(text, 70000, other, 70000);
	n = name_of(id);
	ck_assert_ptr_nonnull(n);
	ck_assert_uint_eq(n->len, 8192);
	ck_assert_uint_eq(n->extra_len, 8192);
	ck_assert_uint_eq(n->text[8192], 0);
	ck_assert_int_eq(memcmp(n->text, text, 8192), 0);
	ck_assert_int_eq(memcmp(n->text + 8193, other, 8192), 0);
	ck_assert_uint_eq(n->text[2 * 8192 + 1], 0);
	ck_assert_uint_eq(names_add(text, 8192, other, 8192), id);
	ck_assert_uint_ne(names_add(text, 8191, other, 8192), id);
	ck_assert_uint_ne(names_add(text, 8192, other, 8191), id);
}
END_TEST

/* Chunks of another kind at each place where the parent had one of names. */
static void take_data(void)
{
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_MIDDLE, 1), 0);
	for (int i = 0; i < 20; i++)
		ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
}

static bool data_is_empty(void)
{
	const struct chunk *c;
	uint64_t at = 0;

	ck_assert_int_eq(spool_view_init(&view, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&view, &at)))
		if (c->kind == CHUNK_DATA && c->used != sizeof(*c))
			return false;
	return true;
}

static unsigned fill_with_names(void)
{
	char text[256] = { 0 };
	unsigned n = 0;

	memset(text, 'n', sizeof(text));
	do
		snprintf(text, 16, "%u", n);
	while (names_add(text, 250, "", 0) && ++n < 100000);
	return n;
}

START_TEST(a_child_has_as_much_room_for_names)
{
	uint32_t epoch = names_epoch, id;
	unsigned room;

	bench_open(0, 4 << 20);
	room = fill_with_names();
	ck_assert_uint_gt(room, 3000);
	for (int generation = 0; generation < 3; generation++) {
		spool_forget();
		ck_assert_uint_ne(names_epoch, epoch);
		epoch = names_epoch;
		bench_open(0, 4 << 20);
		take_data(); /* where the parent's names lie */
		id = names_add("first", 5, "", 0);
		ck_assert_str_eq(name_of(id)->text, "first");
		ck_assert_uint_eq(chunks_of(CHUNK_NAMES), 1);
		ck_assert_uint_ge(fill_with_names() + 1, room);
		ck_assert(data_is_empty());
	}
}
END_TEST

/* More of them than the index has room for: each has its text all the same. */
START_TEST(in_a_crowded_index_a_name_is_stored_again)
{
	char text[32];

	bench_open(0, 24 << 20);
	for (unsigned i = 0; i < 80000; i++) {
		size_t len = (size_t)snprintf(text, sizeof(text), "name %u", i);
		uint32_t id = names_add(text, len, "", 0);

		ck_assert_uint_ne(id, 0);
		if (i % 1000 == 0 || i > 79000)
			ck_assert_str_eq(name_of(id)->text, text);
	}
}
END_TEST

START_TEST(a_damaged_name_is_none)
{
	uint64_t size = SPOOL_HEADER + CHUNK_MIDDLE;
	struct name *n;
	uint32_t id;

	bench_open(0, CAP);
	id = names_add("name", 4, "extra", 5);
	copy_before_nothing(size);
	n = (struct name *)(uintptr_t)names_get(&view, id);
	ck_assert_ptr_nonnull(n);
	n->len = 8193;
	ck_assert_ptr_null(names_get(&view, id));
	n->len = 4;
	n->extra_len = 8193;
	ck_assert_ptr_null(names_get(&view, id));
	/* One that begins before the end of the file and ends behind it. */
	id = (uint32_t)((size - 64) / 8);
	n = (struct name *)(uintptr_t)(view.base + size - 64);
	memset(n, 0, 64);
	n->len = 54;
	ck_assert_ptr_nonnull(names_get(&view, id));
	n->len = 55;
	ck_assert_ptr_null(names_get(&view, id));
	n->len = 30;
	n->extra_len = 25;
	ck_assert_ptr_null(names_get(&view, id));
	ck_assert_ptr_null(names_get(&view, (uint32_t)(size / 8)));
	ck_assert_ptr_null(names_get(&view, SPOOL_HEADER / 8 - 1));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core chunks");

	tcase_add_test(tc, a_chunk_used_again_is_as_a_new_one);
	tcase_add_loop_test(tc, nothing_is_handed_out_beyond_a_limit, 0, 2);
	tcase_add_loop_test(tc, a_chunk_is_populated_before_it_is_used, 0, 2);
	tcase_add_test(tc, a_child_has_no_chunks_of_its_parents);
	tcase_add_test(tc, a_share_of_the_spool_is_for_others);
	tcase_add_test(tc, a_damaged_chunk_is_stepped_over);
	tcase_add_test(tc, a_spool_of_another_kind_is_not_read);
	tcase_add_test(tc, each_thread_that_counted_is_in_the_sum);
	tcase_add_test(tc, a_long_name_is_cut_and_no_other);
	tcase_add_test(tc, a_child_has_as_much_room_for_names);
	tcase_add_test(tc, in_a_crowded_index_a_name_is_stored_again);
	tcase_add_test(tc, a_damaged_name_is_none);
	return unit_run(tc, "core chunks");
}
