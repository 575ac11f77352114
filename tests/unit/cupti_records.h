/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_records - CUPTI's records made by hand, put through the decoder.
 *
 * Threads  the test is the consumer.  Memory  one process for each test: Check forks.
 * Errors   assertions.  Units  ns of CUPTI's clock.
 */
#ifndef TESTS_CUPTI_RECORDS_H
#define TESTS_CUPTI_RECORDS_H

#include "agent/cupti/flow/orders.h"
#include "tests/unit/cupti_bench.h"

static struct cycle_info *info;
static uint8_t buffer[1 << 20] __attribute__((aligned(8)));
static size_t filled;
static uint32_t stride_now;

static inline void records_start(const char *version)
{
	bench_spool();
	bench_libraries(version);
	bench.config.cuda_sync = bench.config.cuda_memory = bench.config.cuda_latency = 1;
	bench.config.cuda_graphs = GRAPHS_GRAPH;
	bench_begin_session();
	ck_assert(cupti_active());
	session.deny = 0;
	kinds_start();
	/* No consumer in these: the test is it. */
	info = (struct cycle_info *)calloc(1, sizeof(*info));
	info->number = 1;
	info->begin = clock_ticks();
	orders_live();
	cupti_opened(info);
	windows_collect();
	filled = 0;
}

static inline uint64_t begin_ns(void)
{
	return windows_get(1)->begin;
}

static inline void store(uint8_t *p, uint64_t value, size_t width)
{
	memcpy(p, &value, width);
}

/* A record with `seed`; false: the version has no such kind. */
static inline uint8_t *add(uint32_t kind, uint32_t seed)
{
	uint8_t *p = buffer + filled;

	stride_now = (uint32_t)bench.record(p, kind, seed);
	ck_assert_uint_eq(stride_now, layout_stride[kind]);
	filled += stride_now;
	return p;
}

static inline uint8_t *add_call(uint32_t correlation)
{
	uint8_t *p = add(KIND_RUNTIME, 1);

	store(p + LAYOUT_AT_RUNTIME_cbid, 211, 4); /* cudaLaunchKernel */
	store(p + LAYOUT_AT_RUNTIME_start, begin_ns() + 10, 8);
	store(p + LAYOUT_AT_RUNTIME_end, begin_ns() + 20, 8);
	store(p + LAYOUT_AT_RUNTIME_correlationId, correlation, 4);
	store(p + LAYOUT_AT_RUNTIME_returnValue, 0, 4);
	return p;
}

static inline uint8_t *add_work_at(uint32_t kind, uint32_t seed, uint32_t correlation,
				   uint32_t begin, uint32_t end, uint32_t id)
{
	uint8_t *p = add(kind, seed);

	store(p + begin, begin_ns() + 30, 8);
	store(p + end, begin_ns() + 40, 8);
	store(p + id, correlation, 4);
	return p;
}
#define add_work(KIND, seed, correlation)                                     \
	add_work_at(KIND_##KIND, seed, correlation, LAYOUT_AT_##KIND##_start, \
		    LAYOUT_AT_##KIND##_end, LAYOUT_AT_##KIND##_correlationId)

/* What the headers of the version say, by name. */
static inline const struct fake_field *field_of(uint32_t kind, const char *field)
{
	size_t n;
	const struct fake_field *f = bench.fields(&n);

	for (size_t i = 0; i < n; i++)
		if (f[i].kind == kind && !strcmp(f[i].field, field))
			return &f[i];
	return NULL;
}

static inline uint64_t wanted(uint32_t kind, const char *field, uint32_t seed)
{
	const struct fake_field *f = field_of(kind, field);
	uint64_t value = fake_value(kind, field, seed);

	return !f ? 0 : f->width >= 8 ? value : value & ((1ull << f->width * 8) - 1);
}

/* Where the header says, not our table. */
static inline void put(uint8_t *record, uint32_t kind, const char *field, uint64_t value)
{
	const struct fake_field *f = field_of(kind, field);

	ck_assert_msg(f != NULL, "kind %u has no %s", kind, field);
	store(record + f->offset, value, f->width);
}

static inline void run(void)
{
	windows_collect();
	decode_buffer(buffer, filled, 0);
	filled = 0;
	memset(buffer, 0, sizeof(buffer));
}

static inline const void *one(enum record_kind kind)
{
	const void *r = bench_record(info, kind, 0);

	ck_assert(r);
	ck_assert(!bench_record(info, kind, 1));
	return r;
}

#endif
