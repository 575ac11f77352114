/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe_bench - what torch calls around an operator, without torch.
 *
 * Threads  any.  Memory  one process for each test: Check forks.
 * Errors   assertions.  Units  none.
 */
#ifndef TESTS_OBSERVE_BENCH_H
#define TESTS_OBSERVE_BENCH_H

#include "agent/core/chunk.h"
#include "agent/core/emit.h"
#include "agent/torch/observe.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/torch_image.h"
#include "tests/unit/unit.h"

#include <errno.h>

static const struct layout *const l = &layouts[LAYOUTS - 1];
static uint64_t rf[48];
static bool bench_native; /* native stacks */

static struct {
	_Atomic unsigned ended, follows;
	uint32_t token; /* what annotations (and operators) get */
	_Atomic uint64_t word;
	_Atomic uint64_t *at;
	uint64_t seen;
} sched_fake;

static inline uint32_t begins(const char *name, size_t len)
{
	(void)name;
	(void)len;
	return sched_fake.token;
}

static inline void ends(uint32_t token)
{
	ck_assert_uint_eq(token, sched_fake.token);
	sched_fake.ended++;
}

static inline void follows(void)
{
	sched_fake.follows++;
}

static inline uint64_t thread_id(void)
{
	return 3;
}

static inline const char *accessor(const void *p)
{
	const char *const *schema;

	memcpy(&schema, (const uint8_t *)p + 160, sizeof(schema));
	errno = EIO;
	return *schema;
}

static inline void open_window(uint64_t number)
{
	uint64_t at = chunk_take(CHUNK_CYCLE, CHUNK_SMALL, number);
	struct cycle_info *info = (struct cycle_info *)(chunk_at(at) + 1);

	memset((void *)info, 0, sizeof(*info));
	info->number = number;
	gate_set(number, at);
}

static inline void setup(bool inputs, bool markers)
{
	static struct torch_listener listener;

	listener = (struct torch_listener){ .begin = begins,
					    .end = ends,
					    .op_begin = markers ? begins : NULL,
					    .follow = follows,
					    .follow_word = &sched_fake.at,
					    .follow_seen = &sched_fake.seen };
	sched_fake.at = &sched_fake.word;
	image_known(l);
	abi.fwd_at = l->fwd_at;
	abi.settled = ABI_SETTLED | ABI_SETTLED_INPUTS;
	abi.name = accessor;
	abi.thread_id = thread_id;
	clock_start();
	ck_assert_int_eq(gate_start(), 0);
	ck_assert_int_eq(thread_start(), 0);
	ck_assert_int_eq(spool_open(NULL, 16 << 20), 0);
	ck_assert_int_eq(spool_prepare(16 << 20), 0);
	observe_start(&listener, inputs, bench_native);
	image_operator(l, rf, image_schema(l, "aten::addmm", ""), NULL, 0);
}

/* ---- as torch does it ---- */

static inline void *op_begin(void)
{
	void *slot = rf;

	ck_assert_ptr_eq(observe_op_begin(&slot, rf), &slot);
	return slot;
}

static inline void *note_begin(void)
{
	void *slot = rf;

	ck_assert_ptr_eq(observe_note_begin(&slot, rf), &slot);
	return slot;
}

static void delete (void *context)
{
	if (context)
		(*(void (***)(void *))context)[1](context);
}

static inline void end(void *context)
{
	observe_end(rf, context);
	delete (context);
}

#endif
