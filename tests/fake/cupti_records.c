/* SPDX-License-Identifier: Apache-2.0 */
/* cupti_records - records of GPU work, synchronisation, memory, devices, overhead; each
 * written field by field into the client's buffer: pads stay as they were. */
#include "tests/fake/cupti_internal.h"

#include <unistd.h>

static bool on(uint32_t kind)
{
	return cupti.kinds & BIT(kind);
}

/* FAKE_SPARSE: what does not apply stays as the buffer was. */
static bool written(bool applies)
{
	return applies || !cupti.zeroed || !KNOB("FAKE_SPARSE", 0);
}

static uint64_t gpu_stamp(uint64_t raw)
{
	return cupti_stamp(raw) + (uint64_t)KNOB("FAKE_GPU_SKEW_NS", 0);
}

/* Is this one a case for FAKE_<what>_EVERY? */
#define EVERY(counter, variable)                                 \
	({                                                       \
		long long every_ = KNOB(variable, 0);            \
		every_ > 0 && (counter) % (uint64_t)every_ == 0; \
	})

static void spoil(rec_CONCURRENT_KERNEL *r)
{
	static uint64_t counter;
	uint64_t n = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED), start = r->start;

	if (EVERY(n, "FAKE_ZERO_EVERY"))
		r->start = r->end = 0;
	if (EVERY(n, "FAKE_REVERSED_EVERY")) {
		r->start = r->end;
		r->end = start;
	}
	if (EVERY(n, "FAKE_EARLY_EVERY"))
		r->start = call_begin() - 2000;
	if (EVERY(n, "FAKE_INCOMPLETE_EVERY"))
		r->end = 0;
}

static void shape(rec_CONCURRENT_KERNEL *r, const struct fake_work *w)
{
	const struct fake_function *f = w->function;

	r->gridX = (int32_t)w->grid[0];
	r->gridY = (int32_t)w->grid[1];
	r->gridZ = (int32_t)w->grid[2];
	r->blockX = (int32_t)w->block[0];
	r->blockY = (int32_t)w->block[1];
	r->blockZ = (int32_t)w->block[2];
	r->registersPerThread = (uint16_t)f->registers;
	r->staticSharedMemory = (int32_t)f->static_shared;
	r->dynamicSharedMemory = (int32_t)w->shared;
	r->sharedMemoryExecuted = 0;
	r->localMemoryPerThread = 0;
	r->localMemoryTotal = 0;
	r->cacheConfig.both = 0;
	r->sharedMemoryConfig = 0;
	r->partitionedGlobalCacheRequested = 0;
	r->partitionedGlobalCacheExecuted = 0;
	r->isSharedMemoryCarveoutRequested = 0;
	r->sharedMemoryCarveoutRequested = 0;
	r->shmemLimitConfig = 0;
	r->pAccessPolicyWindow = NULL;
	SET(CONCURRENT_KERNEL, r, clusterX, w->cluster[0]);
	SET(CONCURRENT_KERNEL, r, clusterY, w->cluster[1]);
	SET(CONCURRENT_KERNEL, r, clusterZ, w->cluster[2]);
	SET(CONCURRENT_KERNEL, r, clusterSchedulingPolicy, 0);
	SET(CONCURRENT_KERNEL, r, localMemoryTotal_v2, 0);
	SET(CONCURRENT_KERNEL, r, maxPotentialClusterSize, 0);
	SET(CONCURRENT_KERNEL, r, maxActiveClusters, 0);
	SET(CONCURRENT_KERNEL, r, isDeviceLaunched, 0);
	SET(CONCURRENT_KERNEL, r, priority, w->stream->priority);
	SET(CONCURRENT_KERNEL, r, executionModel, 1);
	SET(CONCURRENT_KERNEL, r, sourceGraphId, w->graph);
	SET(CONCURRENT_KERNEL, r, sourceGraphNodeId, w->node);
}

/* What all GPU work has: when, where, of which call; and what is no whole graph. */
#define RAN(r, w)                                                                    \
	((r)->start = gpu_stamp((w)->start), (r)->end = gpu_stamp((w)->end),         \
	 (r)->deviceId = (uint32_t)(w)->stream->context->device,                     \
	 (r)->contextId = (w)->stream->context->id, (r)->streamId = (w)->stream->id, \
	 (r)->correlationId = call_correlation())
#define NODE(r, w)                                                                 \
	(written((w)->graph)                                                       \
		 ? (void)((r)->graphNodeId = (w)->node, (r)->graphId = (w)->graph) \
		 : (void)0)

static void kernel(const struct fake_work *w)
{
	static uint64_t grid;
	rec_CONCURRENT_KERNEL *r = record_begin(sizeof(*r));

	if (!r)
		return;
	r->kind = on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			  ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
			  : CUPTI_ACTIVITY_KIND_KERNEL;
	shape(r, w);
	RAN(r, w);
	NODE(r, w);
	r->completed = r->end;
	if (written(cupti.latency)) {
		r->queued = cupti.latency ? cupti_stamp(w->queued) - 4000 : 0;
		r->submitted = cupti.latency ? cupti_stamp(w->queued) - 2000 : 0;
	}
	r->gridId = (int64_t)__atomic_add_fetch(&grid, 1, __ATOMIC_RELAXED);
	r->name = name_kernel(w->function);
	r->launchType = w->launch_type;
	r->channelID = 8;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	spoil(r);
	record_end(w->end);
}

static void copy(const struct fake_work *w)
{
	rec_MEMCPY *r = record_begin(sizeof(*r));

	if (!r)
		return;
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	r->copyKind = w->copy_kind;
	r->srcKind = w->from_kind;
	r->dstKind = w->to_kind;
	r->flags = w->async;
	r->bytes = w->bytes;
	RAN(r, w);
	NODE(r, w);
	r->runtimeCorrelationId = 0;
	r->channelID = 9;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	SET(MEMCPY, r, isDeviceLaunched, 0);
	SET(MEMCPY, r, copyCount, 1);
	SET(MEMCPY, r, sourceGraphId, w->graph);
	SET(MEMCPY, r, sourceGraphNodeId, w->node);
	record_end(w->end);
}

static void peer(const struct fake_work *w)
{
	rec_MEMCPY2 *r = record_begin(sizeof(*r));

	if (!r)
		return;
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	r->copyKind = w->copy_kind;
	r->srcKind = w->from_kind;
	r->dstKind = w->to_kind;
	r->flags = w->async;
	r->bytes = w->bytes;
	RAN(r, w);
	NODE(r, w);
	r->srcDeviceId = (uint32_t)w->from->device;
	r->srcContextId = w->from->id;
	r->dstDeviceId = (uint32_t)w->to->device;
	r->dstContextId = w->to->id;
	r->channelID = 9;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	record_end(w->end);
}

static void set(const struct fake_work *w)
{
	rec_MEMSET *r = record_begin(sizeof(*r));

	if (!r)
		return;
	r->kind = CUPTI_ACTIVITY_KIND_MEMSET;
	r->value = w->value;
	r->bytes = w->bytes;
	RAN(r, w);
	NODE(r, w);
	r->flags = w->async;
	r->memoryKind = w->to_kind;
	r->channelID = 8;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	SET(MEMSET, r, isDeviceLaunched, 0);
	SET(MEMSET, r, sourceGraphId, w->graph);
	SET(MEMSET, r, sourceGraphNodeId, w->node);
	record_end(w->end);
}

static void graph(const struct fake_work *w)
{
	rec_GRAPH_TRACE *r = record_begin(sizeof(*r));

	if (!r)
		return;
	r->kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	RAN(r, w);
	r->graphId = w->graph;
	SET(GRAPH_TRACE, r, endDeviceId, r->deviceId);
	SET(GRAPH_TRACE, r, endContextId, r->contextId);
	record_end(w->end);
}

void records_work(const struct fake_work *w)
{
	if (w->kind == WORK_GRAPH && on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
		graph(w);
	if (w->graph && on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
		return;
	if (w->kind == WORK_KERNEL &&
	    (on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) || on(CUPTI_ACTIVITY_KIND_KERNEL)))
		kernel(w);
	if (w->kind == WORK_COPY && w->peer &&
	    (on(CUPTI_ACTIVITY_KIND_MEMCPY2) || on(CUPTI_ACTIVITY_KIND_MEMCPY)))
		peer(w);
	if (w->kind == WORK_COPY && !w->peer && on(CUPTI_ACTIVITY_KIND_MEMCPY))
		copy(w);
	if (w->kind == WORK_SET && on(CUPTI_ACTIVITY_KIND_MEMSET))
		set(w);
}

static void event(const struct fake_sync *s)
{
	rec_CUDA_EVENT *r = record_begin(sizeof(*r));

	if (!r)
		return;
	r->kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
	r->correlationId = call_correlation();
	r->contextId = s->context->id;
	r->streamId = s->stream->id;
	r->eventId = s->event->id;
	SET(CUDA_EVENT, r, deviceId, (uint32_t)s->context->device);
	SET(CUDA_EVENT, r, deviceTimestamp,
	    cupti.event_times ? gpu_stamp(s->event->at) : 0);
	SET(CUDA_EVENT, r, cudaEventSyncId, s->event->sync);
	record_end(cupti_raw());
}

void records_sync(const struct fake_sync *s)
{
	rec_SYNCHRONIZATION *r;

	if (s->type == 0 && on(CUPTI_ACTIVITY_KIND_CUDA_EVENT))
		event(s);
	if (s->type == 0 || !on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) ||
	    (s->query && (VERSION < 128 || (s->result && !cupti.all_syncs))))
		return;
	r = record_begin(sizeof(*r));
	if (!r)
		return;
	r->kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	r->type = (CUpti_ActivitySynchronizationType)s->type;
	r->start = cupti_stamp(s->start);
	r->end = cupti_stamp(s->end);
	r->correlationId = call_correlation();
	r->contextId = s->context->id;
	r->streamId = s->stream ? s->stream->id : UINT32_MAX;
	r->cudaEventId = s->event ? s->event->id : UINT32_MAX;
	SET(SYNCHRONIZATION, r, cudaEventSyncId, s->event ? s->event->sync : 0);
	SET(SYNCHRONIZATION, r, returnValue, (uint32_t)s->result);
	record_end(cupti_raw());
}

static void pool(rec_MEMORY2 *r, const struct fake_block *b)
{
	r->memoryPoolConfig.memoryPoolType =
		b->pool ? CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL
			: CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID;
	r->memoryPoolConfig.address = b->pool ? 0x70000000 : 0;
	r->memoryPoolConfig.releaseThreshold = 0;
	r->memoryPoolConfig.pool.size = b->pool ? 1u << 25 : 0;
	r->memoryPoolConfig.utilizedSize = b->pool ? cupti.gpu->memory_used() : 0;
}

void records_block(const struct fake_block *b)
{
	rec_MEMORY2 *r;

	if (!on(CUPTI_ACTIVITY_KIND_MEMORY2) || !(r = record_begin(sizeof(*r))))
		return;
	r->kind = CUPTI_ACTIVITY_KIND_MEMORY2;
	r->memoryOperationType =
		b->release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
			   : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
	r->memoryKind = (CUpti_ActivityMemoryKind)b->memory;
	r->correlationId = call_correlation();
	r->address = (uint64_t)b->address;
	r->bytes = b->bytes;
	r->timestamp = cupti_stamp(cupti_raw());
	r->PC = 0;
	r->processId = (uint32_t)getpid();
	r->deviceId = b->context ? (uint32_t)b->context->device : 0;
	r->contextId = b->context ? b->context->id : 0;
	r->streamId = b->stream ? b->stream->id : UINT32_MAX;
	r->name = NULL;
	r->isAsync = b->stream != NULL;
	if (written(b->pool))
		pool(r, b);
	SET(MEMORY2, r, source, NULL);
	record_end(cupti_raw());
}
