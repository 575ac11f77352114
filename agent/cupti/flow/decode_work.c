/* SPDX-License-Identifier: Apache-2.0 */
/* Records of what the GPU did become ours: kernels, copies, sets, whole graphs. Each goes
 * to the window of its call (correlation.c), with the parts that only some records have
 * behind it. */
#include "agent/cupti/flow/decode_work.h"
#include "agent/core/names.h"
#include "agent/cupti/flow/correlation.h"
#include "agent/cupti/flow/text.h"
#include "agent/cupti/lib/devices.h"
#include "agent/cupti/lib/layout.h"
#include "agent/cupti/lib/session.h"
#include "base/seldom.h"

#define NAMES 4096u /* places of the cache of kernel names */

#define KERNEL(field)  LAYOUT_GET(p, CONCURRENT_KERNEL, field)
#define KERNEL_(field) LAYOUT_MAY(p, CONCURRENT_KERNEL, field)
#define PEER(field)    LAYOUT_GET(p, MEMCPY2, field)
#define COPY(field)    (peer ? PEER(field) : LAYOUT_GET(p, MEMCPY, field))
#define SET(field)     LAYOUT_GET(p, MEMSET, field)
#define GRAPH(field)   LAYOUT_GET(p, GRAPH_TRACE, field)

static void append_graph(struct made *m, uint64_t node, uint64_t graph)
{
	if (node || graph)
		decode_append(
			m, GPU_GRAPH,
			&(struct gpu_graph){ .node = node, .graph = (uint32_t)graph },
			sizeof(struct gpu_graph));
}

/* ---- names ---- */

static SELDOM struct {
	const char *text;
	uint32_t id, length;
} names[NAMES];
static uint32_t names_of;

static const struct name *name_at(uint32_t id)
{
	return (const struct name *)(spool.base + (uint64_t)id * 8);
}

static uint32_t name_new(const char *text, size_t at)
{
	size_t length;
	uint32_t id;

	if (!text_length(text, &length))
		return 0; /* the writer counts it: CUDA_UNNAMED */
	id = names_add(text, length, NULL, 0);
	if (id && name_at(id)->len == length) { /* it was not cut */
		names[at].text = text;
		names[at].id = id;
		names[at].length = (uint32_t)length;
	}
	return id;
}

/* CUPTI may reuse the place of a name for another one: the text decides. */
static uint32_t name_of(uint64_t pointer)
{
	const char *text = (const char *)(uintptr_t)pointer;
	size_t at = (pointer >> 4 ^ pointer >> 16) % NAMES;

	if (!text)
		return 0;
	if (names_of != names_epoch) {
		memset(names, 0, sizeof(names));
		names_of = names_epoch;
	}
	if (names[at].text == text &&
	    !memcmp(name_at(names[at].id)->text, text, names[at].length + 1u))
		return names[at].id;
	return name_new(text, at);
}

/* ---- one function for each kind ---- */

static void fill_gpu(struct made *m, uint64_t device, uint64_t context, uint64_t stream,
		     uint64_t correlation)
{
	m->u.g.correlation = (uint32_t)correlation;
	m->u.g.context = (uint32_t)context;
	m->u.g.stream = (uint32_t)stream;
	m->u.g.device = device < 255 ? (uint8_t)device : 255;
	if (device < 255)
		devices_used((uint32_t)device);
}

/* Records of graphs' parts, which a client may have asked for. */
static bool unwanted_graph(uint64_t graph)
{
	return graph && session_config()->cuda_graphs == GRAPHS_OFF;
}

void decode_kernel(const uint8_t *p)
{
	uint64_t queued = KERNEL(queued), submitted = KERNEL(submitted);
	struct made m;

	if (unwanted_graph(KERNEL(graphId)))
		return;
	decode_start(&m, REC_KERNEL, sizeof(struct rec_kernel));
	m.u.r.name = name_of(KERNEL(name));
	m.u.r.begin = KERNEL(start);
	m.u.r.end = KERNEL(end);
	fill_gpu(&m, KERNEL(deviceId), KERNEL(contextId), KERNEL(streamId),
		 KERNEL(correlationId));
	m.u.g.priority = (int8_t)KERNEL_(priority);
	m.u.g.channel_type = (uint8_t)KERNEL(channelType);
	m.u.kernel.grid[0] = (uint32_t)KERNEL(gridX);
	m.u.kernel.grid[1] = (uint32_t)KERNEL(gridY);
	m.u.kernel.grid[2] = (uint32_t)KERNEL(gridZ);
	m.u.kernel.block[0] = (uint16_t)KERNEL(blockX);
	m.u.kernel.block[1] = (uint16_t)KERNEL(blockY);
	m.u.kernel.block[2] = (uint16_t)KERNEL(blockZ);
	m.u.kernel.registers = (uint16_t)KERNEL(registersPerThread);
	m.u.kernel.static_shared = (uint32_t)KERNEL(staticSharedMemory);
	m.u.kernel.dynamic_shared = (uint32_t)KERNEL(dynamicSharedMemory);
	m.u.kernel.channel = (uint32_t)KERNEL(channelID);
	append_graph(&m, KERNEL(graphNodeId), KERNEL(graphId));
	/* In graphs `queued` and `submitted` are left over from another launch. */
	if (session_config()->cuda_latency && queued && queued <= submitted &&
	    submitted <= m.u.r.begin)
		decode_append(&m, GPU_LATENCY, &(struct gpu_latency){ queued, submitted },
			      sizeof(struct gpu_latency));
	correlation_work((uint32_t)KERNEL(correlationId), &m);
}

void decode_copy(const uint8_t *p, bool peer)
{
	struct made m;

	if (unwanted_graph(COPY(graphId)))
		return;
	decode_start(&m, REC_COPY, sizeof(struct rec_copy));
	m.u.r.begin = COPY(start);
	m.u.r.end = COPY(end);
	fill_gpu(&m, COPY(deviceId), COPY(contextId), COPY(streamId),
		 COPY(correlationId));
	m.u.g.channel_type = (uint8_t)COPY(channelType);
	m.u.copy.bytes = COPY(bytes);
	m.u.copy.kind = (uint8_t)COPY(copyKind);
	m.u.copy.from = (uint8_t)COPY(srcKind);
	m.u.copy.to = (uint8_t)COPY(dstKind);
	m.u.copy.channel = (uint32_t)COPY(channelID);
	append_graph(&m, COPY(graphNodeId), COPY(graphId));
	if (peer)
		decode_append(&m, GPU_PEER,
			      &(struct gpu_peer){
				      .from_device = (uint32_t)PEER(srcDeviceId),
				      .from_context = (uint32_t)PEER(srcContextId),
				      .to_device = (uint32_t)PEER(dstDeviceId),
				      .to_context = (uint32_t)PEER(dstContextId),
			      },
			      sizeof(struct gpu_peer));
	correlation_work((uint32_t)COPY(correlationId), &m);
}

void decode_set(const uint8_t *p)
{
	struct made m;

	if (unwanted_graph(SET(graphId)))
		return;
	decode_start(&m, REC_SET, sizeof(struct rec_set));
	m.u.r.begin = SET(start);
	m.u.r.end = SET(end);
	fill_gpu(&m, SET(deviceId), SET(contextId), SET(streamId), SET(correlationId));
	m.u.g.channel_type = (uint8_t)SET(channelType);
	m.u.set.bytes = SET(bytes);
	m.u.set.value = (uint32_t)SET(value);
	m.u.set.memory = (uint16_t)SET(memoryKind);
	m.u.set.channel = (uint32_t)SET(channelID);
	append_graph(&m, SET(graphNodeId), SET(graphId));
	correlation_work((uint32_t)SET(correlationId), &m);
}

void decode_graph(const uint8_t *p)
{
	struct made m;

	if (unwanted_graph(GRAPH(graphId)))
		return;
	decode_start(&m, REC_GRAPH, sizeof(struct rec_graph));
	m.u.r.begin = GRAPH(start);
	m.u.r.end = GRAPH(end);
	fill_gpu(&m, GRAPH(deviceId), GRAPH(contextId), GRAPH(streamId),
		 GRAPH(correlationId));
	m.u.graph.graph = (uint32_t)GRAPH(graphId);
	correlation_work((uint32_t)GRAPH(correlationId), &m);
}
