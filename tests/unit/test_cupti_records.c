/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_records.h"

/*
 * Every kind of every version, each field with a value of its own, through the whole
 * decoder: the values come from the headers of that version, by name.
 */
#define IS(value, kind, field, type) \
	ck_assert_uint_eq((uint64_t)(value), (uint64_t)(type)wanted(kind, field, seed))

static const uint32_t seed = 7;

START_TEST(calls)
{
	const struct rec_call *r;
	uint8_t *p;

	records_start(versions[_i]);
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

	records_start(versions[_i]);
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
	ck_assert_uint_eq(r->cbid, 307);
	ck_assert_uint_eq(r->r.begin, begin_ns() + 5);
	IS(r->r.end, KIND_DRIVER, "end", uint64_t);
	IS(r->correlation, KIND_DRIVER, "correlationId", uint32_t);
	IS(r->tid, KIND_DRIVER, "threadId", uint32_t);
	IS((uint32_t)r->result, KIND_DRIVER, "returnValue", uint32_t);
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

	records_start(versions[_i]);
	add_call(1000);
	p = add_work(CONCURRENT_KERNEL, seed, 1000);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_queued, begin_ns() + 11, 8);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_submitted, begin_ns() + 12, 8);
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

/* Kernels that run one at a time are never ours: stepped over, by their own size. */
START_TEST(kernels_of_another_client)
{
	records_start(versions[_i]);
	add_call(1000);
	add_work_at(KIND_KERNEL, seed, 1000, LAYOUT_AT_CONCURRENT_KERNEL_start,
		    LAYOUT_AT_CONCURRENT_KERNEL_end,
		    LAYOUT_AT_CONCURRENT_KERNEL_correlationId);
	add_work(MEMSET, seed, 1000);
	run();
	ck_assert(!bench_record(info, REC_KERNEL, 0));
	gpu(&((const struct rec_set *)one(REC_SET))->g, KIND_MEMSET, 1000);
}
END_TEST

START_TEST(copies)
{
	const struct rec_copy *r;

	records_start(versions[_i]);
	add_call(1000);
	add_work(MEMCPY, seed, 1000);
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

	records_start(versions[_i]);
	add_call(1000);
	add_work(MEMCPY2, seed, 1000);
	run();
	r = one(REC_COPY);
	gpu(&r->g, KIND_MEMCPY2, 1000);
	IS(r->bytes, KIND_MEMCPY2, "bytes", uint64_t);
	IS(r->kind, KIND_MEMCPY2, "copyKind", uint8_t);
	IS(r->from, KIND_MEMCPY2, "srcKind", uint8_t);
	IS(r->to, KIND_MEMCPY2, "dstKind", uint8_t);
	IS(r->channel, KIND_MEMCPY2, "channelID", uint32_t);
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

	records_start(versions[_i]);
	add_call(1000);
	add_work(MEMSET, seed, 1000);
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

static const struct rec_graph *launched(uint32_t device)
{
	uint8_t *p;

	add_call(1000);
	p = add_work(GRAPH_TRACE, seed, 1000);
	put(p, KIND_GRAPH_TRACE, "deviceId", device);
	run();
	return one(REC_GRAPH);
}

START_TEST(graph_launches)
{
	const struct rec_graph *r;

	records_start(versions[_i]);
	r = launched(5);
	ck_assert_uint_eq(r->g.device, 5);
	ck_assert_uint_eq(r->g.r.begin, begin_ns() + 30);
	ck_assert_uint_eq(r->g.r.end, begin_ns() + 40);
	ck_assert_uint_eq(r->g.correlation, 1000);
	IS(r->graph, KIND_GRAPH_TRACE, "graphId", uint32_t);
	IS(r->g.context, KIND_GRAPH_TRACE, "contextId", uint32_t);
	IS(r->g.stream, KIND_GRAPH_TRACE, "streamId", uint32_t);
}
END_TEST

START_TEST(graph_launches_that_begin_on_the_host)
{
	records_start(versions[_i]);
	ck_assert_uint_eq(launched(INT32_MAX)->g.device, 255);
}
END_TEST

START_TEST(waits_and_events)
{
	const struct rec_sync *r;
	const struct rec_event *e;
	uint8_t *p;

	records_start(versions[_i]);
	add_call(1000);
	p = add(KIND_SYNCHRONIZATION, seed);
	store(p + LAYOUT_AT_SYNCHRONIZATION_start, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_SYNCHRONIZATION_end, begin_ns() + 40, 8);
	p = add(KIND_CUDA_EVENT, seed);
	store(p + LAYOUT_AT_CUDA_EVENT_correlationId, 1000, 4);
	run();
	r = one(REC_SYNC);
	ck_assert_uint_eq(r->r.begin, begin_ns() + 30);
	ck_assert_uint_eq(r->r.end, begin_ns() + 40);
	IS(r->correlation, KIND_SYNCHRONIZATION, "correlationId", uint32_t);
	IS(r->context, KIND_SYNCHRONIZATION, "contextId", uint32_t);
	IS(r->stream, KIND_SYNCHRONIZATION, "streamId", uint32_t);
	IS(r->type, KIND_SYNCHRONIZATION, "type", uint32_t);
	IS(r->event, KIND_SYNCHRONIZATION, "cudaEventId", uint32_t);
	IS(r->event_sync, KIND_SYNCHRONIZATION, "cudaEventSyncId", uint64_t);
	e = one(REC_EVENT);
	ck_assert_uint_eq(e->correlation, 1000);
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

	records_start(versions[_i]);
	p = add(KIND_OVERHEAD, seed);
	store(p + LAYOUT_AT_OVERHEAD_start, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_OVERHEAD_end, begin_ns() + 40, 8);
	store(p + LAYOUT_AT_OVERHEAD_objectKind, 2, 4);
	run();
	r = one(REC_OVERHEAD);
	ck_assert_uint_eq(r->r.begin, begin_ns() + 30);
	ck_assert_uint_eq(r->r.end, begin_ns() + 40);
	IS(r->kind, KIND_OVERHEAD, "overheadKind", uint32_t);
	IS(r->correlation, KIND_OVERHEAD, "correlationId", uint32_t);
	IS(r->tid, KIND_OVERHEAD, "objectId.pt.threadId", uint32_t);
}
END_TEST

START_TEST(allocations)
{
	const struct rec_block *r;
	uint8_t *p;

	records_start(versions[_i]);
	p = add(KIND_MEMORY2, seed);
	store(p + LAYOUT_AT_MEMORY2_timestamp, begin_ns() + 30, 8);
	put(p, KIND_MEMORY2, "deviceId", 5);
	put(p, KIND_MEMORY2, "memoryPoolConfig.memoryPoolType", 1);
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
	ck_assert_uint_eq(r->device, 5);
	ck_assert_uint_eq(r->pool, 1);
	IS(r->pool_size, KIND_MEMORY2, "memoryPoolConfig.pool.size", uint64_t);
	IS(r->pool_used, KIND_MEMORY2, "memoryPoolConfig.utilizedSize", uint64_t);
}
END_TEST

/* What it says of a pool is left over where there is none. */
START_TEST(allocations_without_a_pool)
{
	const struct rec_block *r;
	uint8_t *p;

	records_start(versions[_i]);
	p = add(KIND_MEMORY2, seed);
	store(p + LAYOUT_AT_MEMORY2_timestamp, begin_ns() + 30, 8);
	put(p, KIND_MEMORY2, "memoryPoolConfig.memoryPoolType", 0);
	run();
	r = one(REC_BLOCK);
	ck_assert_uint_eq(r->device, 255);
	ck_assert(!r->pool && !r->pool_size && !r->pool_used);
}
END_TEST

START_TEST(devices)
{
	const struct rec_device *r;
	uint8_t *p;
	char name[64];

	records_start(versions[_i]);
	p = add(KIND_DEVICE, seed);
	store(p + LAYOUT_AT_DEVICE_id, 3, 4);
	run();
	devices_write(&windows_get(1)->side, windows_get(1)->begin);
	r = one(REC_GPU);
	ck_assert_uint_eq(r->id, 3);
	fake_text(name, sizeof(name), KIND_DEVICE, "name", seed);
	ck_assert_str_eq(bench_name(r->r.name), name);
	IS(r->memory, KIND_DEVICE, "globalMemorySize", uint64_t);
	IS(r->major, KIND_DEVICE, "computeCapabilityMajor", uint16_t);
	IS(r->minor, KIND_DEVICE, "computeCapabilityMinor", uint16_t);
	IS(r->sms, KIND_DEVICE, "numMultiprocessors", uint32_t);
	IS(r->warp, KIND_DEVICE, "numThreadsPerWarp", uint32_t);
	ck_assert_uint_eq(
		r->threads_per_sm,
		(uint32_t)(wanted(KIND_DEVICE, "maxWarpsPerMultiprocessor", seed) *
			   r->warp));
	IS(r->threads_per_block, KIND_DEVICE, "maxThreadsPerBlock", uint32_t);
	IS(r->registers_per_block, KIND_DEVICE, "maxRegistersPerBlock", uint32_t);
	IS(r->registers_per_sm, KIND_DEVICE, "maxRegistersPerMultiprocessor", uint32_t);
	IS(r->shared_per_block, KIND_DEVICE, "maxSharedMemoryPerBlock", uint32_t);
	IS(r->shared_per_sm, KIND_DEVICE, "maxSharedMemoryPerMultiprocessor", uint32_t);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("records");

	tcase_add_loop_test(tc, calls, 0, VERSIONS);
	tcase_add_loop_test(tc, driver_calls, 0, VERSIONS);
	tcase_add_loop_test(tc, kernels, 0, VERSIONS);
	tcase_add_loop_test(tc, kernels_of_another_client, 0, VERSIONS);
	tcase_add_loop_test(tc, copies, 0, VERSIONS);
	tcase_add_loop_test(tc, copies_between_devices, 0, VERSIONS);
	tcase_add_loop_test(tc, sets, 0, VERSIONS);
	tcase_add_loop_test(tc, graph_launches, 0, VERSIONS);
	tcase_add_loop_test(tc, graph_launches_that_begin_on_the_host, 0, VERSIONS);
	tcase_add_loop_test(tc, waits_and_events, 0, VERSIONS);
	tcase_add_loop_test(tc, overhead, 0, VERSIONS);
	tcase_add_loop_test(tc, allocations, 0, VERSIONS);
	tcase_add_loop_test(tc, allocations_without_a_pool, 0, VERSIONS);
	tcase_add_loop_test(tc, devices, 0, VERSIONS);
	return unit_run(tc, "CUPTI's records");
}
