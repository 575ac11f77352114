/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_bench - agent/cupti on a fake driver, cudart and CUPTI (tests/fake/fake.h).
 *
 * Threads  none of its own.  Memory  one process for each test: Check forks.
 * Errors   assertions.  Units  none.
 */
#ifndef TESTS_CUPTI_BENCH_H
#define TESTS_CUPTI_BENCH_H

#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/names.h"
#include "agent/core/spool_view.h"
#include "agent/cupti/client/retreat.h"
#include "agent/cupti/exit.h"
#include "agent/cupti/flow/bell.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/flow/consumer.h"
#include "agent/cupti/flow/contexts.h"
#include "agent/cupti/flow/correlation.h"
#include "agent/cupti/flow/decode_calls.h"
#include "agent/cupti/flow/moments.h"
#include "agent/cupti/flow/round.h"
#include "agent/cupti/lib/calls.h"
#include "agent/cupti/lib/devices.h"
#include "agent/cupti/lib/facts.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/layout.h"
#include "agent/cupti/lib/lock.h"
#include "agent/cupti/lib/say.h"
#include "agent/cupti/subscription.h"
#include "base/log.h"
#include "tests/fake/fake.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

static const char *const versions[] = { "11.7", "11.8", "12.1", "12.4", "12.8",
					"13.0", "13.1", "13.3", "13.4" };
#define VERSIONS ((int)(sizeof(versions) / sizeof(*versions)))

struct bench_dim {
	unsigned x, y, z;
};

static struct {
	void *cuda, *cudart, *cupti; /* libraries */
	struct config config;
	_Atomic unsigned begun, used, settled, estimate;
	int (*init)(unsigned);
	int (*launch)(const void *, struct bench_dim, struct bench_dim, void **, size_t,
		      void *);
	int (*set)(void *, int, size_t);
	int (*alloc)(void **, size_t);
	int (*synchronize)(void);
	typeof(fake_set) *fake_set;
	typeof(fake_kernel) *kernel;
	typeof(fake_wait) *wait;
	typeof(fake_now) *now;
	typeof(fake_cupti) *state;
	typeof(fake_fill) *fill;
	typeof(fake_raw) *raw;
	typeof(fake_record) *record;
	typeof(fake_fields) *fields;
	typeof(fake_deliver) *deliver;
	typeof(fake_storm) *storm;
} bench;

static inline bool bench_begin(void)
{
	bench.begun++;
	return true;
}

static inline void bench_used(void)
{
	bench.used++;
}

static inline void bench_settled(void)
{
	bench.settled++;
}

static inline void bench_estimate(bool on)
{
	bench.estimate += on;
}

static inline void *bench_symbol(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	ck_assert_msg(symbol, "%s", name);
	return symbol;
}

static inline void bench_spool(void)
{
	const uint64_t cap = 64 << 20;

	clock_start();
	ck_assert_int_eq(gate_start(), 0);
	spool_open(NULL, cap);
	ck_assert_int_eq(spool_prepare(cap), 0);
	clock_sample(spool.head);
	config_defaults(&bench.config);
	log_quiet = true;
}

/* The libraries of a version; without them the test is skipped. */
static inline void bench_libraries(const char *version)
{
	char cudart[32], cupti_name[32];

	snprintf(cudart, sizeof(cudart), "libcudart.so.%.*s%s", 2, version,
		 version[1] == '1' ? ".0" : "");
	snprintf(cupti_name, sizeof(cupti_name), "libcupti.so.%.*s",
		 version[1] == '1' ? 4 : 2, version);
	bench.cuda = fake_open(version, "libcuda.so.1");
	bench.cudart = fake_open(version, cudart);
	bench.cupti = fake_open(version, cupti_name);
	ck_assert_msg(bench.cuda && bench.cudart && bench.cupti, "%s", dlerror());
	*(void **)&bench.init = bench_symbol(bench.cuda, "cuInit");
	*(void **)&bench.launch = bench_symbol(bench.cudart, "cudaLaunchKernel");
	*(void **)&bench.set = bench_symbol(bench.cudart, "cudaMemset");
	*(void **)&bench.alloc = bench_symbol(bench.cudart, "cudaMalloc");
	*(void **)&bench.synchronize =
		bench_symbol(bench.cudart, "cudaDeviceSynchronize");
	*(void **)&bench.fake_set = bench_symbol(bench.cuda, "fake_set");
	*(void **)&bench.kernel = bench_symbol(bench.cuda, "fake_kernel");
	*(void **)&bench.wait = bench_symbol(bench.cuda, "fake_wait");
	*(void **)&bench.now = bench_symbol(bench.cuda, "fake_now");
	*(void **)&bench.state = bench_symbol(bench.cupti, "fake_cupti");
	*(void **)&bench.fill = bench_symbol(bench.cupti, "fake_fill");
	*(void **)&bench.raw = bench_symbol(bench.cupti, "fake_raw");
	*(void **)&bench.record = bench_symbol(bench.cupti, "fake_record");
	*(void **)&bench.fields = bench_symbol(bench.cupti, "fake_fields");
	*(void **)&bench.deliver = bench_symbol(bench.cupti, "fake_deliver");
	*(void **)&bench.storm = bench_symbol(bench.cupti, "fake_storm");
}

static inline void bench_begin_session(void)
{
	static const struct cupti_actions actions = { bench_begin, bench_used,
						      bench_settled, bench_estimate };

	unsetenv("CUDA_INJECTION64_PATH");
	cupti_start(&bench.config, &actions, "/nowhere/libproflaunch.so");
	unsetenv("CUDA_INJECTION64_PATH");
	ck_assert_int_eq(bench.init(0), 0);
	ck_assert_int_eq(cupti_injected(), 1);
}

static inline void bench_start(const char *version)
{
	bench_spool();
	bench_libraries(version);
	bench_begin_session();
	ck_assert(cupti_active());
}

/* ---- windows, as the scheduler makes them ---- */

static inline struct cycle_info *bench_open(void)
{
	static uint64_t number;
	uint32_t size = sizeof(struct chunk) + sizeof(struct cycle_info);
	uint64_t at = chunk_take(CHUNK_CYCLE, size, ++number);
	struct cycle_info *info = (struct cycle_info *)(chunk_at(at) + 1);

	ck_assert(at);
	memset((void *)info, 0, sizeof(*info));
	info->number = number;
	info->begin = clock_ticks();
	atomic_store(&info->state, CYCLE_OPEN);
	cupti_opened(info);
	cupti_now();
	return info;
}

static inline void bench_seal(struct cycle_info *info, bool kept)
{
	__atomic_store_n(&info->end, clock_ticks(), __ATOMIC_RELEASE);
	cupti_sealed(info, kept);
}

static inline bool bench_settles(struct cycle_info *info, unsigned ms)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + ms * 1000000ll;

	while (atomic_load(&info->cuda_state) == CUDA_PENDING &&
	       sys_clock_ns(CLOCK_MONOTONIC) < until)
		usleep(1000);
	return atomic_load(&info->cuda_state) == CUDA_SETTLED;
}

static inline uint64_t bench_count(struct cycle_info *info, enum cuda_count what)
{
	return atomic_load(&info->cuda[what]);
}

/* The nth record of a kind in a window's GPU part, NULL = fewer. */
/* The n-th of a kind; NULL: there are fewer, which are taken off n. */
static inline const void *bench_walk(struct cycle_info *info, enum record_kind kind,
				     unsigned *n)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at))) {
		const uint8_t *p = (const uint8_t *)(c + 1);
		const uint8_t *end =
			(const uint8_t *)c + atomic_load(&((struct chunk *)c)->used);

		if (atomic_load(&((struct chunk *)c)->kind) != CHUNK_CUDA ||
		    c->cycle != info->number)
			continue;
		for (; p < end; p += ((const struct record *)p)->units * 8) {
			ck_assert(((const struct record *)p)->units);
			if (((const struct record *)p)->kind == kind && !(*n)--)
				return p;
		}
	}
	return NULL;
}

static inline const void *bench_record(struct cycle_info *info, enum record_kind kind,
				       unsigned n)
{
	return bench_walk(info, kind, &n);
}

static inline unsigned bench_records(struct cycle_info *info, enum record_kind kind)
{
	unsigned n = UINT32_MAX;

	bench_walk(info, kind, &n);
	return UINT32_MAX - n;
}

static inline const char *bench_name(uint32_t id)
{
	struct spool_view v;
	const struct name *n;

	spool_view_init(&v, spool.base, spool.head->cap);
	n = names_get(&v, id);
	return n ? n->text : "";
}

static inline void bench_launch(const char *name)
{
	void *kernel = bench.kernel(name, NULL);
	struct bench_dim one = { 1, 1, 1 };

	ck_assert_int_eq(bench.launch(kernel, one, one, NULL, 0, NULL), 0);
}

#endif
