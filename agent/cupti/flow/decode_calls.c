/* SPDX-License-Identifier: Apache-2.0 */
/* Records of CUPTI's that are no work: calls, overheads, synchronisation, events; and the
 * walk over a buffer. */
#include "agent/cupti/flow/decode_calls.h"
#include "agent/core/names.h"
#include "agent/cupti/flow/correlation.h"
#include "agent/cupti/flow/decode_work.h"
#include "agent/cupti/flow/moments.h"
#include "agent/cupti/lib/api.h"
#include "agent/cupti/lib/calls.h"
#include "agent/cupti/lib/devices.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/layout.h"

/* Walks a buffer by the strides that the library told, and decodes what the CPU did:
 * calls, waits, allocations, CUPTI's own overhead. What the GPU did is decode_work.c's.
 */
#define CALL(field)     LAYOUT_GET(p, RUNTIME, field)
#define SYNC(field)     LAYOUT_GET(p, SYNCHRONIZATION, field)
#define EVENT(field)    LAYOUT_GET(p, CUDA_EVENT, field)
#define OVERHEAD(field) LAYOUT_GET(p, OVERHEAD, field)
#define BLOCK(field)    LAYOUT_GET(p, MEMORY2, field)
#define OBJECT_THREAD   2
#define POOL_LOCAL      1
#define POOL_AT         LAYOUT_AT_MEMORY2_memoryPoolConfig

uint64_t decode_records;

static void place_at(uint64_t ns, const struct made *m)
{
	struct window *w = windows_at(ns);

	if (w)
		place_record(w, m);
}

/* ---- calls ---- */

static uint32_t call_name(struct call *c)
{
	static uint32_t epoch;

	if (epoch != names_epoch) {
		calls_forget_names();
		epoch = names_epoch;
	}
	if (!c->id)
		c->id = names_add(c->name, c->length, NULL, 0);
	return c->id;
}

static void decode_call(const uint8_t *p, int domain, uint32_t consumer)
{
	uint32_t correlation = (uint32_t)CALL(correlationId);
	uint32_t cbid = (uint32_t)CALL(cbid);
	uint64_t begin = CALL(start);
	struct call *c = calls_get(domain, cbid);
	struct window *w = windows_at(begin);
	bool fine = !CALL(returnValue);
	struct rec_call *r;

	if (consumer && (uint32_t)CALL(threadId) == consumer)
		return; /* the consumer asks the driver what GPUs there are */
	correlation_call(correlation, w, c && c->traits & CALL_WORKS && fine);
	if (c && c->traits & (CALL_CAPTURES | CALL_CAPTURED) &&
	    (fine || c->traits & CALL_CAPTURED))
		correlation_capture(correlation, w, c->traits & CALL_CAPTURES);
	if (!w || !c || !(c->traits & CALL_OURS))
		return;
	if (!w->info) {
		windows_late(w);
		return;
	}
	w->news_at = windows_now;
	r = side_reserve(&w->side, REC_CALL, sizeof(*r));
	if (!r)
		return;
	r->r.name = call_name(c);
	r->r.begin = begin;
	r->r.end = CALL(end);
	r->correlation = correlation;
	r->cbid = cbid;
	r->tid = (uint32_t)CALL(threadId);
	r->result = (int32_t)CALL(returnValue);
	side_commit(&w->side, &r->r, REC_CALL,
		    (uint8_t)((domain == DOMAIN_DRIVER ? CALL_DRIVER : 0) |
			      (c->traits & CALL_WORKS ? CALL_LAUNCHES : 0)),
		    sizeof(*r));
}

/* ---- what else the CPU did ---- */

static void decode_sync(const uint8_t *p)
{
	struct made m;

	decode_start(&m, REC_SYNC, sizeof(struct rec_sync));
	m.u.r.begin = SYNC(start);
	m.u.r.end = SYNC(end);
	m.u.sync.correlation = (uint32_t)SYNC(correlationId);
	m.u.sync.context = (uint32_t)SYNC(contextId);
	m.u.sync.stream = (uint32_t)SYNC(streamId);
	m.u.sync.type = (uint32_t)SYNC(type);
	m.u.sync.event = (uint32_t)SYNC(cudaEventId);
	m.u.sync.event_sync = LAYOUT_MAY(p, SYNCHRONIZATION, cudaEventSyncId);
	place_at(m.u.r.begin, &m);
}

static void decode_event(const uint8_t *p)
{
	struct made m;

	decode_start(&m, REC_EVENT, sizeof(struct rec_event));
	m.u.r.begin = m.u.r.end = LAYOUT_MAY(p, CUDA_EVENT, deviceTimestamp);
	m.u.event.correlation = (uint32_t)EVENT(correlationId);
	m.u.event.context = (uint32_t)EVENT(contextId);
	m.u.event.stream = (uint32_t)EVENT(streamId);
	m.u.event.event = (uint32_t)EVENT(eventId);
	m.u.event.event_sync = LAYOUT_MAY(p, CUDA_EVENT, cudaEventSyncId);
	correlation_work(m.u.event.correlation, &m);
}

static void decode_overhead(const uint8_t *p)
{
	const uint8_t *object = p + LAYOUT_AT_OVERHEAD_objectId;
	struct made m;

	decode_start(&m, REC_OVERHEAD, sizeof(struct rec_overhead));
	m.u.r.begin = OVERHEAD(start);
	m.u.r.end = OVERHEAD(end);
	m.u.overhead.kind = (uint32_t)OVERHEAD(overheadKind);
	if (OVERHEAD(objectKind) == OBJECT_THREAD)
		m.u.overhead.tid = (uint32_t)layout_read(object + 4, 4);
	m.u.overhead.correlation = (uint32_t)LAYOUT_MAY(p, OVERHEAD, correlationId);
	place_at(m.u.r.begin, &m);
}

static void decode_block(const uint8_t *p)
{
	uint64_t device = BLOCK(deviceId), operation = BLOCK(memoryOperationType);
	uint64_t pool = layout_read(p + POOL_AT, 4);
	struct made m;

	decode_start(&m, REC_BLOCK, sizeof(struct rec_block));
	m.u.r.begin = m.u.r.end = BLOCK(timestamp);
	m.u.block.address = BLOCK(address);
	m.u.block.bytes = BLOCK(bytes);
	m.u.block.correlation = (uint32_t)BLOCK(correlationId);
	m.u.block.context = (uint32_t)BLOCK(contextId);
	m.u.block.stream = (uint32_t)BLOCK(streamId);
	m.u.block.operation = (uint8_t)operation;
	m.u.block.memory = (uint8_t)BLOCK(memoryKind);
	m.u.block.device = device < 255 ? (uint8_t)device : 255;
	m.u.block.pool = (uint8_t)pool;
	/* For a pool that another process made, this place has that process's id. */
	if (pool == POOL_LOCAL) {
		m.u.block.pool_size = layout_read(p + POOL_AT + 24, 8);
		m.u.block.pool_used = layout_read(p + POOL_AT + 32, 8);
	}
	place_at(m.u.r.begin, &m);
}

/* ---- a buffer ---- */

static void decode_record(const uint8_t *p, uint32_t kind, uint32_t consumer)
{
	switch (kind) {
	case KIND_RUNTIME:
		decode_call(p, DOMAIN_RUNTIME, consumer);
		break;
	case KIND_DRIVER:
		decode_call(p, DOMAIN_DRIVER, consumer);
		break;
	case KIND_CONCURRENT_KERNEL:
	case KIND_KERNEL:
		decode_kernel(p);
		break;
	case KIND_MEMCPY:
	case KIND_MEMCPY2:
		decode_copy(p, kind == KIND_MEMCPY2);
		break;
	case KIND_MEMSET:
		decode_set(p);
		break;
	case KIND_GRAPH_TRACE:
		decode_graph(p);
		break;
	case KIND_SYNCHRONIZATION:
		decode_sync(p);
		break;
	case KIND_CUDA_EVENT:
		decode_event(p);
		break;
	case KIND_OVERHEAD:
		decode_overhead(p);
		break;
	case KIND_MEMORY2:
		decode_block(p);
		break;
	case KIND_DEVICE:
		devices_seen(p);
		break;
	default: /* another client's */
		break;
	}
}

/* The next record's size; 0 at the end, or where it cannot be read further. */
static uint32_t next_stride(const uint8_t *at, size_t left, uint32_t *kind)
{
	if (left < 8)
		return 0;
	*kind = (uint32_t)layout_read(at, 4);
	if (*kind >= KIND_MOST || layout_stride[*kind] > left)
		return 0;
	return layout_stride[*kind];
}

void decode_buffer(const uint8_t *at, size_t valid, uint32_t consumer)
{
	/* Where a client has asked for whole graphs there is no other record of them. */
	uint64_t ours = kinds_for_ours() | 1ull << KIND_GRAPH_TRACE;
	uint32_t kind, stride;

	place_latest = moments_now() + PLACE_OUTSIDE_NS;
	while ((stride = next_stride(at, valid, &kind))) {
		if (ours >> kind & 1)
			decode_record(at, kind, consumer);
		decode_records++;
		at += stride;
		valid -= stride;
	}
	if (valid)
		windows_count(CUDA_UNDECODED, 1);
}

uint64_t decode_count(const uint8_t *at, size_t valid)
{
	uint32_t kind, stride;
	uint64_t n = 0;

	for (; (stride = next_stride(at, valid, &kind)); n++) {
		at += stride;
		valid -= stride;
	}
	return n;
}
