/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit_bench - a spool, a window in it, and records of the calling thread.
 *
 * Threads  emit_one: any; the others one.
 * Memory   a spool in a fresh directory.
 * Errors   a failed Check assertion.
 * Units    bytes.
 */
#ifndef TESTS_EMIT_BENCH_H
#define TESTS_EMIT_BENCH_H

#include "agent/core/emit_short.h"
#include "agent/core/spool_view.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <string.h>

/* Ways through emit.h: the machine's own, without its counter, without membarrier. */
enum { WAY_OWN, WAY_SLOW = 1, WAY_FENCES = 2, WAYS = 4 };

static inline void bench_open(unsigned way, uint64_t cap)
{
	char dir[] = "/tmp/unit-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	clock_start();
	if (way & WAY_SLOW)
		clock_kind = CLOCK_NS;
	ck_assert_int_eq(gate_start(), 0);
	gate_fences |= (way & WAY_FENCES) != 0;
	ck_assert_int_eq(thread_start(), 0);
	ck_assert_int_eq(spool_open(dir, cap), 0);
	ck_assert_int_eq(spool_prepare(cap), 0);
}

static inline struct cycle_info *bench_info(void)
{
	return (struct cycle_info *)(chunk_at(atomic_load(&gate->cycle_at)) + 1);
}

static inline uint64_t bench_descriptor(uint64_t number)
{
	uint64_t at = chunk_take(CHUNK_CYCLE, CHUNK_SMALL, number);
	struct cycle_info *info = (struct cycle_info *)(chunk_at(at) + 1);

	ck_assert_uint_ne(at, 0);
	memset(info, 0, sizeof(*info));
	info->number = number;
	return at;
}

static inline void bench_cycle(uint64_t number)
{
	gate_set(number, bench_descriptor(number));
}

static inline bool emit_one(int64_t seq)
{
	struct thread *t = emit_enter(REC_OP);
	struct rec_op *op = t ? emit_reserve(t, REC_OP, sizeof(*op)) : NULL;

	if (op) {
		*op = (struct rec_op){ .seq = seq };
		op->r.begin = clock_ticks();
		emit_commit(t, &op->r, REC_OP, 0, sizeof(*op));
	}
	if (t)
		emit_leave(t);
	return op;
}

/* Counts the records of a kind as a reader finds them. */
static inline uint64_t bench_records(enum record_kind kind)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0, n = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at))) {
		const uint8_t *p = (const uint8_t *)(c + 1);
		const uint8_t *end = (const uint8_t *)c + c->used;

		for (; c->kind == CHUNK_DATA && p < end;
		     p += ((const struct record *)p)->units * 8u)
			n += ((const struct record *)p)->kind == kind;
	}
	return n;
}

static inline void *on_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;
	void *result;

	ck_assert_int_eq(pthread_create(&thread, NULL, run, arg), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	return result;
}

#endif
