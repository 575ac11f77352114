/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_bench.h"

/*
 * Every kind of every version, each field with a value of its own, through the whole
 * decoder: the values come from the headers of that version, by name.
 */
#define BASE \
	1000000000ull /* where the times of a record are put, from the window's begin */

static struct cycle_info *info;
static uint8_t buffer[1 << 20] __attribute__((aligned(8)));
static size_t filled;
static uint32_t stride_now;

static void start(const char *version)
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
	windows_live(true);
	cupti_opened(info);
	windows_collect();
	filled = 0;
}

static uint64_t begin_ns(void)
{
	return windows_get(1)->begin;
}

static void store(uint8_t *p, uint64_t value, size_t width)
{
	memcpy(p, &value, width);
}

/* A record with `seed`; false: the version has no such kind. */
static uint8_t *add(uint32_t kind, uint32_t seed)
{
	uint8_t *p = buffer + filled;

	stride_now = (uint32_t)bench.record(p, kind, seed);
	ck_assert_uint_eq(stride_now, layout_stride[kind]);
	filled += stride_now;
	return p;
}

static uint8_t *add_call(uint32_t correlation)
{
	uint8_t *p = add(KIND_RUNTIME, 1);

	store(p + LAYOUT_AT_RUNTIME_cbid, 211, 4); /* cudaLaunchKernel */
	store(p + LAYOUT_AT_RUNTIME_start, begin_ns() + 10, 8);
	store(p + LAYOUT_AT_RUNTIME_end, begin_ns() + 20, 8);
	store(p + LAYOUT_AT_RUNTIME_correlationId, correlation, 4);
	store(p + LAYOUT_AT_RUNTIME_returnValue, 0, 4);
	return p;
}

static void run(void)
{
	windows_collect();
	decode_buffer(buffer, filled);
	filled = 0;
	memset(buffer, 0, sizeof(buffer));
}

static uint64_t wanted(uint32_t kind, const char *field, uint32_t seed)
{
	size_t n;
	const struct fake_field *f = bench.fields(&n);

	for (size_t i = 0; i < n; i++)
		if (f[i].kind == kind && !strcmp(f[i].field, field))
			return f[i].width >= 8 ? fake_value(kind, field, seed)
					       : fake_value(kind, field, seed) &
							 ((1ull << f[i].width * 8) - 1);
	return 0;
}

#define IS(value, kind, field, type) \
	ck_assert_uint_eq((uint64_t)(value), (uint64_t)(type)wanted(kind, field, seed))

static const uint32_t seed = 7;

static const void *one(enum record_kind kind)
{
	const void *r = bench_record(info, kind, 0);

	ck_assert(r);
	ck_assert(!bench_record(info, kind, 1));
	return r;
}

START_TEST(calls)
{
	const struct rec_call *r;
	uint8_t *p;

	start(versions[_i]);
	p = add(KIND_RUNTIME, seed);
	store(p + LAYOUT_AT_RUNTIME_cbid, 211, 4);
	store(p + LAYOUT_AT_RUNTIME_start, begin_ns() + 5, 8);
	store(p + LAYOUT_AT_RUNTIME_end, begin_ns() + 6, 8);
	run();
	r = one(REC_CALL);
	ck_assert_uint_eq(r->r.begin, begin_ns() + 5);
	ck_assert_uint_eq(r->r.end, begin_ns() + 6);
	ck_assert_str_eq(bench_name(r->r.name), "cudaLaunchKernel");
	ck_assert_uint_eq(r->r.flags, CALL_LAUNCHES);
	ck_assert_uint_eq(r->cbid, 211);
	IS(r->correlation, KIND_RUNTIME, "correlationId", uint32_t);
	IS(r->tid, KIND_RUNTIME, "threadId", uint32_t);
	IS((uint32_t)r->result, KIND_RUNTIME, "returnValue", uint32_t);
	ck_assert_uint_eq(r->r.units * 8, 40);
}
END_TEST

START_TEST(driver_calls)
{
	const struct rec_call *r;
	uint8_t *p;

	start(versions[_i]);
	p = add(KIND_DRIVER, seed);
	store(p + LAYOUT_AT_RUNTIME_cbid, 307, 4);
	store(p + LAYOUT_AT_RUNTIME_start, begin_ns() + 5, 8);
	p = add(KIND_DRIVER, seed);
	store(p + LAYOUT_AT_RUNTIME_cbid, 304, 4); /* cuCtxGetCurrent: not recorded */
	store(p + LAYOUT_AT_RUNTIME_start, begin_ns() + 5, 8);
	run();
	r = one(REC_CALL);
	ck_assert_str_eq(bench_name(r->r.name), "cuLaunchKernel");
	ck_assert_uint_eq(r->r.flags, CALL_DRIVER | CALL_LAUNCHES);
}
END_TEST

static void gpu(const struct rec_gpu *g, uint32_t kind, uint32_t correlation)
{
	uint64_t device = wanted(kind, "deviceId", seed);

	ck_assert_uint_eq(g->r.begin, begin_ns() + 30);
	ck_assert_uint_eq(g->r.end, begin_ns() + 40);
	ck_assert_uint_eq(g->correlation, correlation);
	ck_assert_uint_eq(g->device, device < 255 ? device : 255);
	IS(g->context, kind, "contextId", uint32_t);
	IS(g->stream, kind, "streamId", uint32_t);
	IS(g->channel_type, kind, "channelType", uint8_t);
}

static void graph(const void *after, uint32_t kind)
{
	const struct gpu_graph *g = after;

	IS(g->node, kind, "graphNodeId", uint64_t);
	IS(g->graph, kind, "graphId", uint32_t);
}

START_TEST(kernels)
{
	const uint32_t kind = KIND_CONCURRENT_KERNEL;
	const struct rec_kernel *r;
	const struct gpu_latency *latency;
	char name[64];
	uint8_t *p;

	start(versions[_i]);
	add_call(1000);
	p = add(kind, seed);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_start, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_end, begin_ns() + 40, 8);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_queued, begin_ns() + 11, 8);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_submitted, begin_ns() + 12, 8);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_correlationId, 1000, 4);
	run();
	r = one(REC_KERNEL);
	gpu(&r->g, kind, 1000);
	fake_text(name, sizeof(name), kind, "name", seed);
	ck_assert_str_eq(bench_name(r->g.r.name), name);
	ck_assert_uint_eq(r->g.r.flags, GPU_GRAPH | GPU_LATENCY);
	ck_assert_uint_eq(r->g.r.units * 8, 72 + 16 + 16);
	IS(r->g.priority, kind, "priority", int8_t);
	IS(r->grid[0], kind, "gridX", uint32_t);
	IS(r->grid[1], kind, "gridY", uint32_t);
	IS(r->grid[2], kind, "gridZ", uint32_t);
	IS(r->block[0], kind, "blockX", uint16_t);
	IS(r->block[1], kind, "blockY", uint16_t);
	IS(r->block[2], kind, "blockZ", uint16_t);
	IS(r->registers, kind, "registersPerThread", uint16_t);
	IS(r->static_shared, kind, "staticSharedMemory", uint32_t);
	IS(r->dynamic_shared, kind, "dynamicSharedMemory", uint32_t);
	IS(r->channel, kind, "channelID", uint32_t);
	graph(r + 1, kind);
	latency = (const void *)((const uint8_t *)(r + 1) + 16);
	ck_assert_uint_eq(latency->queued, begin_ns() + 11);
	ck_assert_uint_eq(latency->submitted, begin_ns() + 12);
}
END_TEST

START_TEST(copies)
{
	const struct rec_copy *r;
	uint8_t *p;

	start(versions[_i]);
	add_call(1000);
	p = add(KIND_MEMCPY, seed);
	store(p + LAYOUT_AT_MEMCPY_start, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_MEMCPY_end, begin_ns() + 40, 8);
	store(p + LAYOUT_AT_MEMCPY_correlationId, 1000, 4);
	run();
	r = one(REC_COPY);
	gpu(&r->g, KIND_MEMCPY, 1000);
	IS(r->bytes, KIND_MEMCPY, "bytes", uint64_t);
	IS(r->kind, KIND_MEMCPY, "copyKind", uint8_t);
	IS(r->from, KIND_MEMCPY, "srcKind", uint8_t);
	IS(r->to, KIND_MEMCPY, "dstKind", uint8_t);
	IS(r->channel, KIND_MEMCPY, "channelID", uint32_t);
	ck_assert_uint_eq(r->g.r.flags, GPU_GRAPH);
	graph(r + 1, KIND_MEMCPY);
}
END_TEST

START_TEST(copies_between_devices)
{
	const struct rec_copy *r;
	const struct gpu_peer *peer;
	uint8_t *p;

	start(versions[_i]);
	add_call(1000);
	p = add(KIND_MEMCPY2, seed);
	store(p + LAYOUT_AT_MEMCPY2_start, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_MEMCPY2_end, begin_ns() + 40, 8);
	store(p + LAYOUT_AT_MEMCPY2_correlationId, 1000, 4);
	run();
	r = one(REC_COPY);
	gpu(&r->g, KIND_MEMCPY2, 1000);
	IS(r->bytes, KIND_MEMCPY2, "bytes", uint64_t);
	IS(r->kind, KIND_MEMCPY2, "copyKind", uint8_t);
	ck_assert_uint_eq(r->g.r.flags, GPU_GRAPH | GPU_PEER);
	graph(r + 1, KIND_MEMCPY2);
	peer = (const void *)((const uint8_t *)(r + 1) + 16);
	IS(peer->from_device, KIND_MEMCPY2, "srcDeviceId", uint32_t);
	IS(peer->from_context, KIND_MEMCPY2, "srcContextId", uint32_t);
	IS(peer->to_device, KIND_MEMCPY2, "dstDeviceId", uint32_t);
	IS(peer->to_context, KIND_MEMCPY2, "dstContextId", uint32_t);
}
END_TEST

START_TEST(sets)
{
	const struct rec_set *r;
	uint8_t *p;

	start(versions[_i]);
	add_call(1000);
	p = add(KIND_MEMSET, seed);
	store(p + LAYOUT_AT_MEMSET_start, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_MEMSET_end, begin_ns() + 40, 8);
	store(p + LAYOUT_AT_MEMSET_correlationId, 1000, 4);
	run();
	r = one(REC_SET);
	gpu(&r->g, KIND_MEMSET, 1000);
	IS(r->bytes, KIND_MEMSET, "bytes", uint64_t);
	IS(r->value, KIND_MEMSET, "value", uint32_t);
	IS(r->memory, KIND_MEMSET, "memoryKind", uint16_t);
	IS(r->channel, KIND_MEMSET, "channelID", uint32_t);
	graph(r + 1, KIND_MEMSET);
}
END_TEST

START_TEST(graph_launches)
{
	const struct rec_graph *r;
	uint8_t *p;

	start(versions[_i]);
	add_call(1000);
	p = add(KIND_GRAPH_TRACE, seed);
	store(p + LAYOUT_AT_GRAPH_TRACE_start, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_GRAPH_TRACE_end, begin_ns() + 40, 8);
	store(p + LAYOUT_AT_GRAPH_TRACE_correlationId, 1000, 4);
	store(p + LAYOUT_AT_GRAPH_TRACE_deviceId, INT32_MAX, 4);
	run();
	r = one(REC_GRAPH);
	ck_assert_uint_eq(r->g.device, 255);
	ck_assert_uint_eq(r->g.r.begin, begin_ns() + 30);
	IS(r->graph, KIND_GRAPH_TRACE, "graphId", uint32_t);
	IS(r->g.stream, KIND_GRAPH_TRACE, "streamId", uint32_t);
}
END_TEST

START_TEST(waits_and_events)
{
	const struct rec_sync *r;
	const struct rec_event *e;
	uint8_t *p;

	start(versions[_i]);
	add_call(1000);
	p = add(KIND_SYNCHRONIZATION, seed);
	store(p + LAYOUT_AT_SYNCHRONIZATION_start, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_SYNCHRONIZATION_end, begin_ns() + 40, 8);
	p = add(KIND_CUDA_EVENT, seed);
	store(p + LAYOUT_AT_CUDA_EVENT_correlationId, 1000, 4);
	run();
	r = one(REC_SYNC);
	IS(r->correlation, KIND_SYNCHRONIZATION, "correlationId", uint32_t);
	IS(r->context, KIND_SYNCHRONIZATION, "contextId", uint32_t);
	IS(r->stream, KIND_SYNCHRONIZATION, "streamId", uint32_t);
	IS(r->type, KIND_SYNCHRONIZATION, "type", uint32_t);
	IS(r->event, KIND_SYNCHRONIZATION, "cudaEventId", uint32_t);
	IS(r->event_sync, KIND_SYNCHRONIZATION, "cudaEventSyncId", uint64_t);
	e = one(REC_EVENT);
	IS(e->r.begin, KIND_CUDA_EVENT, "deviceTimestamp", uint64_t);
	IS(e->context, KIND_CUDA_EVENT, "contextId", uint32_t);
	IS(e->stream, KIND_CUDA_EVENT, "streamId", uint32_t);
	IS(e->event, KIND_CUDA_EVENT, "eventId", uint32_t);
	IS(e->event_sync, KIND_CUDA_EVENT, "cudaEventSyncId", uint64_t);
}
END_TEST

START_TEST(overhead)
{
	const struct rec_overhead *r;
	uint8_t *p;

	start(versions[_i]);
	p = add(KIND_OVERHEAD, seed);
	store(p + LAYOUT_AT_OVERHEAD_start, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_OVERHEAD_end, begin_ns() + 40, 8);
	store(p + LAYOUT_AT_OVERHEAD_objectKind, 2, 4);
	store(p + LAYOUT_AT_OVERHEAD_objectId + 4, 4711, 4);
	run();
	r = one(REC_OVERHEAD);
	IS(r->kind, KIND_OVERHEAD, "overheadKind", uint32_t);
	IS(r->correlation, KIND_OVERHEAD, "correlationId", uint32_t);
	ck_assert_uint_eq(r->tid, 4711);
}
END_TEST

START_TEST(allocations)
{
	const struct rec_block *r;
	uint8_t *p;

	start(versions[_i]);
	p = add(KIND_MEMORY2, seed);
	store(p + LAYOUT_AT_MEMORY2_timestamp, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_MEMORY2_memoryPoolConfig, 1, 4);
	store(p + LAYOUT_AT_MEMORY2_memoryPoolConfig + 24, 640, 8);
	store(p + LAYOUT_AT_MEMORY2_memoryPoolConfig + 32, 64, 8);
	run();
	r = one(REC_BLOCK);
	ck_assert_uint_eq(r->r.begin, begin_ns() + 30);
	IS(r->address, KIND_MEMORY2, "address", uint64_t);
	IS(r->bytes, KIND_MEMORY2, "bytes", uint64_t);
	IS(r->correlation, KIND_MEMORY2, "correlationId", uint32_t);
	IS(r->context, KIND_MEMORY2, "contextId", uint32_t);
	IS(r->stream, KIND_MEMORY2, "streamId", uint32_t);
	IS(r->operation, KIND_MEMORY2, "memoryOperationType", uint8_t);
	IS(r->memory, KIND_MEMORY2, "memoryKind", uint8_t);
	ck_assert_uint_eq(r->pool, 1);
	ck_assert_uint_eq(r->pool_size, 640);
	ck_assert_uint_eq(r->pool_used, 64);
}
END_TEST

START_TEST(devices)
{
	const struct rec_device *r;
	uint8_t *p;
	char name[64];

	start(versions[_i]);
	p = add(KIND_DEVICE, seed);
	store(p + LAYOUT_AT_DEVICE_id, 3, 4);
	run();
	devices_write(windows_get(1));
	r = one(REC_GPU);
	ck_assert_uint_eq(r->id, 3);
	fake_text(name, sizeof(name), KIND_DEVICE, "name", seed);
	ck_assert_str_eq(bench_name(r->r.name), name);
	IS(r->memory, KIND_DEVICE, "globalMemorySize", uint64_t);
	IS(r->major, KIND_DEVICE, "computeCapabilityMajor", uint16_t);
	IS(r->minor, KIND_DEVICE, "computeCapabilityMinor", uint16_t);
	IS(r->sms, KIND_DEVICE, "numMultiprocessors", uint32_t);
	IS(r->warp, KIND_DEVICE, "numThreadsPerWarp", uint32_t);
	IS(r->threads_per_block, KIND_DEVICE, "maxThreadsPerBlock", uint32_t);
	IS(r->registers_per_block, KIND_DEVICE, "maxRegistersPerBlock", uint32_t);
	IS(r->registers_per_sm, KIND_DEVICE, "maxRegistersPerMultiprocessor", uint32_t);
	IS(r->shared_per_block, KIND_DEVICE, "maxSharedMemoryPerBlock", uint32_t);
	IS(r->shared_per_sm, KIND_DEVICE, "maxSharedMemoryPerMultiprocessor", uint32_t);
}
END_TEST

/* ---- times, orders and buffers that are not as they should be ---- */

static void add_kernel(uint32_t correlation, uint64_t begin, uint64_t end)
{
	uint8_t *p = add(KIND_CONCURRENT_KERNEL, 1);

	store(p + LAYOUT_AT_CONCURRENT_KERNEL_start, begin, 8);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_end, end, 8);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_correlationId, correlation, 4);
}

START_TEST(odd_times_are_counted)
{
	uint64_t now;

	start("13.1");
	now = begin_ns();
	for (uint32_t i = 1; i <= 6; i++)
		add_call(i);
	add_kernel(1, 0, now + 40);
	add_kernel(2, now + 30, 0);
	add_kernel(3, now + 40, now + 30);
	add_kernel(4, now - 6000000000, now + 30);
	add_kernel(5, now + 30, now + 60000000000);
	add_kernel(6, now + 30, now + 40);
	run();
	ck_assert_uint_eq(bench_count(info, CUDA_ZERO), 2);
	ck_assert_uint_eq(bench_count(info, CUDA_REVERSED), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_OUTSIDE), 2);
	ck_assert_uint_eq(one(REC_KERNEL) != NULL, 1);
	ck_assert_uint_eq(windows_get(1)->launched, 6);
	ck_assert_uint_eq(windows_get(1)->matched, 6);
}
END_TEST

START_TEST(work_may_come_before_its_call)
{
	start("12.4");
	add_kernel(5, begin_ns() + 30, begin_ns() + 40);
	add_kernel(5, begin_ns() + 50, begin_ns() + 60); /* a graph: two for one call */
	run();
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 0);
	add_call(5);
	run();
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 2);
	ck_assert_uint_eq(windows_get(1)->launched, 1);
	ck_assert_uint_eq(windows_get(1)->matched, 1);
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), 0);
}
END_TEST

START_TEST(work_without_a_call_goes_where_it_ran)
{
	start("12.4");
	add_kernel(5, begin_ns() + 30, begin_ns() + 40);
	run();
	link_expire(1000000000);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 0);
	link_expire(0);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), 1);
}
END_TEST

START_TEST(a_call_outside_takes_its_work_along)
{
	uint8_t *p;

	start("12.8");
	p = add_call(9);
	store(p + LAYOUT_AT_RUNTIME_start, begin_ns() - 1000, 8);
	add_kernel(9, begin_ns() + 30, begin_ns() + 40);
	run();
	link_expire(0);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 0);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 0);
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), 0);
}
END_TEST

START_TEST(correlation_ids_wrap)
{
	start("13.0");
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t id = (uint32_t)(0xfffffff6u + i);

		if (i % 2)
			add_kernel(id, begin_ns() + 30 + i, begin_ns() + 40 + i);
		add_call(id);
		if (i % 2 == 0)
			add_kernel(id, begin_ns() + 30 + i, begin_ns() + 40 + i);
	}
	run();
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 20);
	ck_assert_uint_eq(windows_get(1)->matched, 20);
}
END_TEST

START_TEST(a_driver_call_inside_a_runtime_call)
{
	uint8_t *p;

	start("13.0");
	p = add(KIND_DRIVER, 1);
	store(p + LAYOUT_AT_RUNTIME_cbid, 307, 4);
	store(p + LAYOUT_AT_RUNTIME_start, begin_ns() + 12, 8);
	store(p + LAYOUT_AT_RUNTIME_end, begin_ns() + 18, 8);
	store(p + LAYOUT_AT_RUNTIME_correlationId, 77, 4);
	store(p + LAYOUT_AT_RUNTIME_returnValue, 0, 4);
	add_call(77);
	add_kernel(77, begin_ns() + 30, begin_ns() + 40);
	run();
	ck_assert_uint_eq(windows_get(1)->launched, 1);
	ck_assert_uint_eq(windows_get(1)->matched, 1);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 2);
}
END_TEST

START_TEST(a_buffer_that_cannot_be_read_to_its_end)
{
	start("13.0");
	add_call(1);
	add_call(2);
	filled -= 8; /* the last one is cut */
	run();
	ck_assert_uint_eq(bench_records(info, REC_CALL), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_UNDECODED), 1);
	add_call(3);
	store(buffer + filled, 63, 4);
	filled += 40;
	add_call(4);
	run();
	ck_assert_uint_eq(bench_records(info, REC_CALL), 2);
	ck_assert_uint_eq(bench_count(info, CUDA_UNDECODED), 2);
	store(buffer, 0xffffffff, 4);
	filled = 64;
	run();
	ck_assert_uint_eq(bench_count(info, CUDA_UNDECODED), 3);
	ck_assert_uint_eq(decode_count(buffer, sizeof(buffer)), 0);
}
END_TEST

START_TEST(a_name_whose_place_is_used_again)
{
	static char name[32] = "first";
	uint8_t *p;

	start("13.0");
	for (uint32_t i = 0; i < 3; i++) {
		add_call(i + 1);
		add_kernel(i + 1, begin_ns() + 30, begin_ns() + 40);
		p = buffer + filled - stride_now;
		store(p + LAYOUT_AT_CONCURRENT_KERNEL_name, (uintptr_t)name, 8);
		run();
		strcpy(name, i ? "first and more" : "fir");
	}
	for (unsigned i = 0; i < 3; i++) {
		const struct rec_kernel *r = bench_record(info, REC_KERNEL, i);

		ck_assert_str_eq(bench_name(r->g.r.name), i == 0   ? "first"
							  : i == 1 ? "fir"
								   : "first and more");
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("records");

	tcase_add_loop_test(tc, calls, 0, VERSIONS);
	tcase_add_loop_test(tc, driver_calls, 0, VERSIONS);
	tcase_add_loop_test(tc, kernels, 0, VERSIONS);
	tcase_add_loop_test(tc, copies, 0, VERSIONS);
	tcase_add_loop_test(tc, copies_between_devices, 0, VERSIONS);
	tcase_add_loop_test(tc, sets, 0, VERSIONS);
	tcase_add_loop_test(tc, graph_launches, 0, VERSIONS);
	tcase_add_loop_test(tc, waits_and_events, 0, VERSIONS);
	tcase_add_loop_test(tc, overhead, 0, VERSIONS);
	tcase_add_loop_test(tc, allocations, 0, VERSIONS);
	tcase_add_loop_test(tc, devices, 0, VERSIONS);
	tcase_add_test(tc, odd_times_are_counted);
	tcase_add_test(tc, work_may_come_before_its_call);
	tcase_add_test(tc, work_without_a_call_goes_where_it_ran);
	tcase_add_test(tc, a_call_outside_takes_its_work_along);
	tcase_add_test(tc, correlation_ids_wrap);
	tcase_add_test(tc, a_driver_call_inside_a_runtime_call);
	tcase_add_test(tc, a_buffer_that_cannot_be_read_to_its_end);
	tcase_add_test(tc, a_name_whose_place_is_used_again);
	return unit_run(tc, "CUPTI's records");
}
