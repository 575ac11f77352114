/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_bench - stacks put into a spool and looked for there.
 *
 * Threads  one.
 * Memory   static.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_STACKS_BENCH_H
#define TESTS_STACKS_BENCH_H

#include "agent/core/spool_view.h"
#include "agent/core/stacks.h"
#include "base/sys.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static struct spool_view view;

static inline void open_spool(uint64_t cap)
{
	ck_assert_int_eq(spool_open(NULL, cap), 0);
	ck_assert_int_eq(spool_prepare(cap), 0);
	ck_assert_int_eq(spool_view_init(&view, spool.base, spool.head->cap), 0);
}

/* Pages. */
static inline size_t resident_pages(void)
{
	unsigned long size, resident;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%lu %lu", &size, &resident), 2);
	fclose(f);
	return resident;
}

static inline struct stack_frame some(unsigned i)
{
	return (struct stack_frame){ .module = 9000 + i % 7, .offset = 64 * i + 1 };
}

static __thread struct stacks_room *own_room;

static inline uint32_t add(unsigned from, unsigned depth, unsigned flags)
{
	uint32_t id = 0;

	for (unsigned i = depth; i--;)
		if (!(id = stacks_add(id, some(from + i), id ? 0 : flags, own_room)))
			return 0;
	return id;
}

/* Is what lies behind `id` what add() was asked for? */
static inline bool holds(uint32_t id, unsigned from, unsigned depth, unsigned flags)
{
	struct stack_frame frame[STACKS_MOST];
	unsigned have, n = stacks_get(&view, id, frame, STACKS_MOST, &have);

	for (unsigned i = 0; i < n; i++)
		if (frame[i].module != some(from + i).module ||
		    frame[i].offset != some(from + i).offset)
			return false;
	return n == depth && have == flags;
}

#endif
