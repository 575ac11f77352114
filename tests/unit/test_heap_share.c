/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the buffer the heap's records may have. */
#include "agent/core/chunk.h"
#include "agent/core/job.h"
#include "tests/unit/emit_bench.h"

#define CAP (3 << 20)

/* A record of `kind`; false: it was dropped. */
static bool put_one(enum record_kind kind, uint32_t size)
{
	struct thread *t = emit_enter(kind);
	struct record *r = emit_reserve(t, kind, size);

	if (r) {
		memset(r, 0, size);
		emit_commit(t, r, kind, 0, size);
	}
	emit_leave(t);
	return r;
}

/* Half of so small a buffer. Operators have all of the rest, and the heap none of it
 * between them; what the writer gives back is the heap's again. */
START_TEST(the_heap_leaves_room_for_the_others)
{
	uint64_t limit, used, others = 0, between = 0;
	struct spool_view v;
	const struct chunk *c;
	struct thread *t;

	bench_open(0, CAP);
	bench_cycle(1);
	limit = atomic_load(&spool.head->limit);
	while (put_one(REC_ALLOC, sizeof(struct record) + 8))
		;
	used = atomic_load(&spool.head->used);
	ck_assert_uint_ge(limit - used + CHUNK_LARGE, limit / 2);
	ck_assert_uint_le(limit - used, limit / 2 + CHUNK_LARGE);
	ck_assert(!put_one(REC_FREE, sizeof(struct record)));
	while (put_one(REC_OP, 40)) {
		others++;
		between += put_one(REC_ALLOC, sizeof(struct record) + 8);
	}
	ck_assert_uint_eq(between, 0);
	ck_assert_uint_ge(others * 40, limit / 2 - 2 * CHUNK_LARGE);
	/* Each said who its thread is once for a chunk, not once for a record. */
	ck_assert_uint_le(bench_records(REC_THREAD), limit / CHUNK_SMALL);
	ck_assert_uint_gt(atomic_load(&emit_info()->whys[DROP_CAP]), others);
	bench_cycle(2);
	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.cap), 0);
	for (uint64_t at = 0; (c = spool_view_next(&v, &at));)
		if (atomic_load(&((struct chunk *)c)->kind) == CHUNK_DATA)
			chunk_give((uint64_t)((const uint8_t *)c - v.base));
	ck_assert(put_one(REC_ALLOC, sizeof(struct record) + 8));
	t = thread_mine;
	ck_assert_ptr_eq(t->limit, t->end);
}
END_TEST

/* A program that limits its memory, or forbids itself system calls, when much is recorded
 * already: of what is left the heap has its share, too. */
START_TEST(what_a_limit_leaves_is_shared)
{
	uint64_t limit;

	bench_open(0, CAP);
	bench_cycle(1);
	limit = atomic_load(&spool.head->limit);
	while (limit - atomic_load(&spool.head->used) > limit / 3)
		ck_assert_uint_ne(chunk_take(CHUNK_NAMES, CHUNK_LARGE, 0), 0);
	ck_assert(!put_one(REC_ALLOC, sizeof(struct record) + 8));
	chunk_left(limit - atomic_load(&spool.head->used));
	ck_assert(put_one(REC_ALLOC, sizeof(struct record) + 8));
	chunk_left(UINT64_MAX);
	ck_assert(!chunk_spares());
}
END_TEST

/* Where the control group is nearly full the finisher says how much may be in use. Other
 * records have the rest as before. */
START_TEST(a_full_control_group_leaves_the_heap_less)
{
	static struct job_page own;
	uint64_t most = 512 << 10, used;

	bench_open(0, CAP);
	bench_cycle(1);
	job = &own;
	atomic_store(&own.heap_most, most >> 10);
	while (put_one(REC_ALLOC, sizeof(struct record) + 8))
		;
	used = atomic_load(&spool.head->used);
	ck_assert_uint_ge(used + CHUNK_SMALL, most);
	ck_assert_uint_le(used, most + CHUNK_LARGE);
	ck_assert_uint_eq(atomic_load(&emit_info()->whys[DROP_GROUP]), 1);
	ck_assert_uint_eq(atomic_load(&emit_info()->whys[DROP_CAP]), 0);
	for (unsigned i = 0; i < 10000; i++)
		ck_assert(put_one(REC_OP, 40));
	ck_assert(!put_one(REC_FREE, sizeof(struct record)));
	ck_assert_uint_eq(atomic_load(&emit_info()->whys[DROP_GROUP]), 2);
	atomic_store(&own.heap_most, 0);
	ck_assert(put_one(REC_ALLOC, sizeof(struct record) + 8));
	atomic_store(&own.heap_most, most >> 10);
	while (put_one(REC_OP, 40))
		;
	ck_assert_uint_eq(atomic_load(&emit_info()->whys[DROP_GROUP]), 2);
	ck_assert_uint_eq(atomic_load(&emit_info()->whys[DROP_CAP]), 1);
	job = NULL;
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("share");

	tcase_add_test(tc, the_heap_leaves_room_for_the_others);
	tcase_add_test(tc, what_a_limit_leaves_is_shared);
	tcase_add_test(tc, a_full_control_group_leaves_the_heap_less);
	return unit_run(tc, "heap share");
}
