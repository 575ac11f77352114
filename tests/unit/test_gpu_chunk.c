/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/gpu_chunk.h"
#include "agent/core/record_cuda.h"
#include "agent/core/spool_view.h"
#include "agent/core/thread.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <string.h>

static struct cycle_info info = { .number = 7 };

static void open_spool(uint64_t cap)
{
	clock_start();
	gate_start();
	ck_assert_int_eq(spool_open(NULL, cap), 0);
	ck_assert_int_eq(spool_prepare(cap), 0);
}

static bool put(struct side *s, uint32_t correlation)
{
	struct rec_call *c = side_reserve(s, REC_CALL, sizeof(*c));

	if (!c)
		return false;
	memset(c, 0, sizeof(*c));
	c->correlation = correlation;
	side_commit(s, &c->r, REC_CALL, CALL_LAUNCHES, sizeof(*c));
	return true;
}

/* Records of cycle 7 in CHUNK_CUDA chunks; checks that they are whole. */
static unsigned count(void)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;
	unsigned n = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at))) {
		if (c->kind != CHUNK_CUDA || c->cycle != 7)
			continue;
		for (uint32_t o = sizeof(*c); o < c->used;) {
			const struct rec_call *r =
				(const struct rec_call *)((const uint8_t *)c + o);

			ck_assert_uint_eq(r->r.kind, REC_CALL);
			ck_assert_uint_eq(r->r.flags, CALL_LAUNCHES);
			ck_assert_uint_eq(r->correlation, n++);
			o += r->r.units * 8u;
		}
	}
	return n;
}

START_TEST(records_lie_in_the_cycles_own_chunks)
{
	struct side s = { .info = &info };

	open_spool(4 << 20);
	for (unsigned i = 0; i < 10000; i++)
		ck_assert(put(&s, i));
	ck_assert_uint_eq(count(), 10000);
	ck_assert_uint_gt(s.chunks, 4);
}
END_TEST

START_TEST(what_has_no_room_is_counted)
{
	struct side s = { .info = &info };
	unsigned kept = 0;

	open_spool(1 << 20);
	for (unsigned i = 0; i < 100000; i++)
		kept += put(&s, kept);
	ck_assert_uint_lt(kept, 100000);
	ck_assert_uint_eq(count(), kept);
	ck_assert_uint_eq(info.drops[REC_CALL], 100000 - kept);
	ck_assert_uint_eq(info.whys[DROP_CAP], 100000 - kept);
	gpu_chunk_count(&s, CUDA_LATE, 3);
	ck_assert_uint_eq(info.cuda[CUDA_LATE], 3);
}
END_TEST

/* As the keeper does it, when it is told; at first only the header is there. */
static unsigned prepared;

static void prepare(void)
{
	prepared++;
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
}

START_TEST(memory_is_asked_for)
{
	struct side s = { .info = &info };
	const unsigned most = 2000000; /* far more than is reserved in one go */

	clock_start();
	gate_start();
	ck_assert_int_eq(spool_open(NULL, 256 << 20), 0);
	thread_wants = prepare;
	for (unsigned i = 0; i < most; i++)
		put(&s, i);
	ck_assert_uint_eq(info.drops[REC_CALL], 0);
	ck_assert_uint_eq(prepared, s.chunks);
}
END_TEST

/* Of any size: with the chunk's own header before it, or not at all. */
START_TEST(no_record_runs_over_its_chunk)
{
	open_spool(16 << 20);
	for (uint32_t size = CHUNK_SMALL - 128; size <= CHUNK_SMALL + 64; size += 8) {
		struct side s = { .info = &info };
		uint8_t *p = side_reserve(&s, REC_CALL, size);

		ck_assert_ptr_nonnull(p);
		ck_assert(p + size <= (uint8_t *)s.chunk + s.chunk->size);
	}
	for (uint32_t size = CHUNK_LARGE - 128; size <= CHUNK_LARGE + 64; size += 8) {
		struct side s = { .info = &info };
		uint8_t *p = side_reserve(&s, REC_CALL, size);

		ck_assert_int_eq(p != NULL, size + sizeof(struct chunk) <= CHUNK_LARGE);
		ck_assert(!p || p + size <= (uint8_t *)s.chunk + s.chunk->size);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("side");

	tcase_add_test(tc, records_lie_in_the_cycles_own_chunks);
	tcase_add_test(tc, what_has_no_room_is_counted);
	tcase_add_test(tc, memory_is_asked_for);
	tcase_add_test(tc, no_record_runs_over_its_chunk);
	return unit_run(tc, "side");
}
