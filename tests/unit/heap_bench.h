/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_bench - a window in which the heap's hooks, under their test names, record what
 * they do on the C library.
 *
 * Threads  one.
 * Memory   a spool of the test's process.
 * Errors   a failed Check assertion.
 * Units    bytes.
 */
#ifndef TESTS_HEAP_BENCH_H
#define TESTS_HEAP_BENCH_H

#include "agent/core/clock.h"
#include "agent/core/emit.h"
#include "agent/core/spool_view.h"
#include "agent/heap/count.h"
#include "agent/heap/record.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <string.h>

#if HEAP_HOOKS
#define HOOK(ret, name, params) ret hook_test_##name params;
#include "agent/heap/malloc.def"
#undef HOOK
#endif

static struct config heap_config;
static uint64_t heap_cycle_at;

/* What all of it stands on; the options are the test's to change until heap_start. */
static inline void heap_prepare(enum heap_mode mode)
{
	if (gate_start() || thread_start() || spool_open(NULL, 64 << 20))
		abort();
	clock_begin(spool.head);
	spool_prepare(32 << 20);
	config_defaults(&heap_config);
	heap_config.malloc = mode;
	heap_config.native_stacks = 0;
	heap_config.malloc_sample_kb = 4;
}

static inline struct cycle_info *heap_begin_window(uint64_t number)
{
	struct cycle_info *info;

	heap_cycle_at = chunk_take(CHUNK_CYCLE,
				   sizeof(struct chunk) + sizeof(struct cycle_info), 1);
	info = (struct cycle_info *)(chunk_at(heap_cycle_at) + 1);
	memset((void *)info, 0, sizeof(*info));
	heap_opened(info);
	gate_set(number, heap_cycle_at);
	return info;
}

static inline struct cycle_info *heap_window(enum heap_mode mode)
{
	heap_prepare(mode);
	heap_start(&heap_config, 1);
	return heap_begin_window(1);
}

/* The n-th record of that kind, and of these flags if they are not negative; NULL. */
static inline const struct record *heap_record(enum record_kind kind, int flags,
					       unsigned n)
{
	struct spool_view view;
	const struct chunk *c;
	uint64_t at = SPOOL_HEADER;

	ck_assert_int_eq(
		spool_view_init(&view, spool.base, atomic_load(&spool.head->used)), 0);
	while ((c = spool_view_next(&view, &at)))
		for (uint32_t i = sizeof(*c);
		     c->kind == CHUNK_DATA &&
		     i < atomic_load(&((struct chunk *)c)->used);) {
			const struct record *r = (const void *)((const char *)c + i);

			if (r->kind == kind && (flags < 0 || r->flags == flags) && !n--)
				return r;
			i += r->units * 8u;
		}
	return NULL;
}

static inline unsigned heap_records(enum record_kind kind, int flags)
{
	unsigned n = 0;

	while (heap_record(kind, flags, n))
		n++;
	return n;
}

#endif
