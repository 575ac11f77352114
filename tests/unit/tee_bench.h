/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tee_bench - a profiler inside the test itself, which calls what client/calls.c exports.
 *
 * Threads  its callbacks: CUPTI's.  Memory  64 buffers at most; `it` is reset before
 *          each test.  Errors  assertions.  Units  none.
 */
#ifndef TESTS_TEE_BENCH_H
#define TESTS_TEE_BENCH_H

#include "agent/cupti/client/calls.h"
#include "agent/cupti/client/translate.h"
#include "agent/cupti/client/wants.h"
#include "tests/unit/cupti_bench.h"

#include <pthread.h>

#define CALL(name) yield_test_cupti##name

static struct {
	_Atomic unsigned kernels, calls, externals, others, buffers, out, foreign, asked;
	_Atomic uint64_t first_start;
	_Atomic uint32_t thread; /* of the newest call */
	size_t size;
	unsigned most; /* buffers, 0 = any number */
	uint8_t *mine[64];
} it;

static inline void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	unsigned n = it.asked++;

	*size = *most = 0;
	*buffer = NULL;
	if (it.most && n >= it.most)
		return;
	for (int i = 0; i < 64 && !*buffer; i++)
		if (!it.mine[i])
			*buffer = it.mine[i] = malloc(it.size);
	*size = it.size;
	it.out++;
}

static inline void look(const uint8_t *r)
{
	switch (layout_read(r, 4)) {
	case KIND_CONCURRENT_KERNEL:
		if (!it.kernels++)
			it.first_start = layout_read(r + 16, 8);
		break;
	case KIND_RUNTIME:
	case KIND_DRIVER:
		it.calls++;
		it.thread = (uint32_t)layout_read(r + 28, 4);
		break;
	case KIND_EXTERNAL_CORRELATION:
		it.externals++;
		break;
	default:
		it.others++;
	}
}

static inline void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid)
{
	int (*next)(uint8_t *, size_t, void **);
	void *record = NULL;
	bool known = false;

	(void)context;
	(void)stream;
	*(void **)&next = dlsym(bench.cupti, "cuptiActivityGetNextRecord");
	for (int i = 0; i < 64; i++)
		if (it.mine[i] == buffer) {
			it.mine[i] = NULL;
			known = true;
		}
	it.foreign += !known || size != it.size;
	it.out--;
	it.buffers++;
	while (known && !next(buffer, valid, &record))
		look(record);
	if (known)
		free(buffer);
}

static inline void launches(unsigned n)
{
	while (n--)
		bench_launch("_Z3addPf");
}

static inline void client_starts(void)
{
	ck_assert_int_eq(CALL(ActivityRegisterCallbacks)(requested, completed), 0);
	ck_assert_int_eq(CALL(ActivityEnable)(KIND_CONCURRENT_KERNEL), 0);
	ck_assert_int_eq(CALL(ActivityEnable)(KIND_RUNTIME), 0);
}

static inline void client_stops(void)
{
	bench.synchronize();
	ck_assert_int_eq(CALL(ActivityDisable)(KIND_CONCURRENT_KERNEL), 0);
	ck_assert_int_eq(CALL(ActivityDisable)(KIND_RUNTIME), 0);
	ck_assert_int_eq(CALL(ActivityFlushAll)(1), 0);
}

static inline void enter(void)
{
	memset((void *)&it, 0, sizeof(it));
	it.size = 1 << 20;
}

/* A driver is there, and CUPTI not ours yet. */
static inline void without_us(const char *version)
{
	bench_spool();
	bench_libraries(version);
	session.wanted = true;
	session.config = &bench.config;
	session.act = (struct cupti_actions){ bench_begin, bench_used, bench_settled,
					      bench_estimate };
	ck_assert_int_eq(bench.init(0), 0);
}

#endif
