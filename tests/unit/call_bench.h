/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_bench - calls of CUDA's functions as cuda/entry.S makes them, in an open window.
 *
 * Threads  one.
 * Memory   a spool of the test's process.
 * Errors   a failed Check assertion.
 * Units    ticks.
 */
#ifndef TESTS_CALL_BENCH_H
#define TESTS_CALL_BENCH_H

#include "agent/core/chunk.h"
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/names.h"
#include "agent/core/record_cuda.h"
#include "agent/core/thread.h"
#include "agent/cuda/libraries.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

static inline void call_window(uint64_t number)
{
	uint64_t at = chunk_take(
		CHUNK_CYCLE, sizeof(struct chunk) + sizeof(struct cycle_info), number);

	memset(chunk_at(at) + 1, 0, sizeof(struct cycle_info));
	gate_set(number, at);
}

static inline void call_start(const struct cuda_listener *to)
{
	clock_start();
	ck_assert_int_eq(gate_start(), 0);
	ck_assert_int_eq(thread_start(), 0);
	ck_assert_int_eq(spool_open(NULL, 4 << 20), 0);
	clock_begin(spool.head);
	ck_assert_int_eq(spool_prepare(4 << 20), 0);
	call_window(1);
	cuda_hooks_start(to);
}

static inline uint32_t slot_of(const char *name)
{
	const struct cuda_function *fn = cuda_function_named(name);

	ck_assert_msg(fn != NULL, "%s is in no table", name);
	return (uint32_t)(fn - cuda_functions);
}

static uint64_t stack[8] = { 70, 80, 90 };

static inline struct cuda_frame frame(const char *name)
{
	struct cuda_frame f = { .slot = slot_of(name),
				.stack = stack,
				.caller = (void *)frame };

	for (unsigned i = 0; i < 6; i++)
		f.reg[i] = 10 * (i + 1);
	return f;
}

static inline void call(struct cuda_frame *f, int result)
{
	errno = 3;
	cuda_enter(f);
	ck_assert_int_eq(errno, 3);
	ck_assert_ptr_nonnull(f->real);
	ck_assert_uint_eq(f->stack_bytes % 16, 0);
	f->result[0] = (uint32_t)result;
	errno = 4;
	cuda_leave(f);
	ck_assert_int_eq(errno, 4);
}

/* The newest record of this thread's chunk. */
static inline const void *newest(void)
{
	const struct chunk *c = thread_mine ? thread_mine->chunk : NULL;
	const struct record *last = NULL;

	for (uint32_t at = sizeof(*c); c && at < atomic_load(&c->used);) {
		last = (const struct record *)((const char *)c + at);
		at += last->units * 8u;
	}
	return last;
}

static inline const char *text_of(uint32_t id)
{
	return ((const struct name *)(spool.base + (uint64_t)id * 8))->text;
}

#endif
