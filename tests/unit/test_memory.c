/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/chunk.h"
#include "agent/core/emit.h"
#include "agent/torch/memory.h"
#include "agent/torch/torch.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

static void open_window(void)
{
	uint64_t at;

	clock_start();
	ck_assert_int_eq(gate_start(), 0);
	ck_assert_int_eq(thread_start(), 0);
	ck_assert_int_eq(spool_open(NULL, 4 << 20), 0);
	ck_assert_int_eq(spool_prepare(4 << 20), 0);
	at = chunk_take(CHUNK_CYCLE, CHUNK_SMALL, 1);
	memset(chunk_at(at) + 1, 0, sizeof(struct cycle_info));
	gate_set(1, at);
}

static void want(bool memory)
{
	static struct config cfg;

	cfg.profile_memory = memory;
	memory_start(&cfg);
}

/* The `n`th memory record of this thread's chunk, or NULL. */
static const struct rec_memory *nth(unsigned n)
{
	const uint8_t *p, *end;

	if (!thread_mine || !thread_mine->chunk)
		return NULL;
	p = (const uint8_t *)(thread_mine->chunk + 1);
	end = (const uint8_t *)thread_mine->chunk + thread_mine->chunk->used;
	for (; p < end; p += ((const struct record *)p)->units * 8u)
		if ((((const struct record *)p)->kind == REC_MEMORY ||
		     ((const struct record *)p)->kind == REC_OOM) &&
		    n-- == 0)
			return (const struct rec_memory *)p;
	return NULL;
}

START_TEST(a_report_is_recorded_with_its_totals)
{
	const struct rec_memory *m;

	open_window();
	want(true);
	memory_report((void *)0x1000, 512, 4096, 8192, 0x0301);
	memory_report((void *)0x1000, -512, 3584, 8192, 0xff00);
	m = nth(0);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->r.kind, REC_MEMORY);
	ck_assert_uint_eq(m->addr, 0x1000);
	ck_assert_int_eq(m->bytes, 512);
	ck_assert_uint_eq(m->allocated, 4096);
	ck_assert_uint_eq(m->reserved, 8192);
	ck_assert_int_eq(m->device_type, 1);
	ck_assert_int_eq(m->device_index, 3);
	m = nth(1);
	ck_assert_int_eq(m->bytes, -512);
	ck_assert_int_eq(m->device_type, 0);
	ck_assert_int_eq(m->device_index, -1);
}
END_TEST

START_TEST(running_out_is_recorded_without_an_address)
{
	open_window();
	want(true);
	memory_exhausted(1ll << 50, 77, 88, 0xff00);
	ck_assert_ptr_nonnull(nth(0));
	ck_assert_uint_eq(nth(0)->r.kind, REC_OOM);
	ck_assert_uint_eq(nth(0)->addr, 0);
	ck_assert_int_eq(nth(0)->bytes, 1ll << 50);
	ck_assert_uint_eq(nth(0)->allocated, 77);
}
END_TEST

START_TEST(nothing_is_recorded_unless_asked_for)
{
	open_window();
	ck_assert(!memory_enabled());
	want(false);
	ck_assert(!memory_enabled());
	memory_report((void *)0x1000, 512, 1, 2, 0);
	memory_exhausted(1, 2, 3, 0);
	ck_assert_ptr_null(nth(0));
}
END_TEST

/* Outside windows libc10 must go on noting its blocks, but nothing is written. */
START_TEST(it_stays_enabled_outside_windows)
{
	open_window();
	want(true);
	ck_assert(memory_enabled());
	gate_set(0, 0);
	ck_assert(memory_enabled());
	memory_report((void *)0x1000, 512, 1, 2, 0);
	ck_assert_ptr_null(nth(0));
}
END_TEST

static void spoil(void)
{
	errno = 5;
}

START_TEST(errno_is_the_programs)
{
	open_window();
	want(true);
	thread_wants = spoil; /* a chunk is taken: anything may happen */
	errno = 1234;
	memory_report((void *)0x1000, 512, 1, 2, 0);
	memory_enabled();
	ck_assert_int_eq(errno, 1234);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("memory");

	tcase_add_test(tc, a_report_is_recorded_with_its_totals);
	tcase_add_test(tc, running_out_is_recorded_without_an_address);
	tcase_add_test(tc, nothing_is_recorded_unless_asked_for);
	tcase_add_test(tc, it_stays_enabled_outside_windows);
	tcase_add_test(tc, errno_is_the_programs);
	return unit_run(tc, "memory");
}
