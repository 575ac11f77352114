/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cuda_parts.h"
#include "writer/occupancy.h"

/* ---- what lies behind a record ---- */

static const void *behind(const struct rec_gpu *g, enum gpu_flag what)
{
	static const struct {
		enum gpu_flag flag;
		size_t size;
	} parts[] = { { GPU_GRAPH, sizeof(struct gpu_graph) },
		      { GPU_LATENCY, sizeof(struct gpu_latency) },
		      { GPU_PEER, sizeof(struct gpu_peer) } };
	size_t at = g->r.kind == REC_KERNEL ? sizeof(struct rec_kernel)
		    : g->r.kind == REC_COPY ? sizeof(struct rec_copy)
		    : g->r.kind == REC_SET  ? sizeof(struct rec_set)
					    : sizeof(struct rec_graph);

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!(g->r.flags & parts[i].flag))
			continue;
		if (at + parts[i].size > (size_t)g->r.units * 8)
			return NULL;
		if (parts[i].flag == what)
			return (const uint8_t *)g + at;
		at += parts[i].size;
	}
	return NULL;
}

const struct gpu_graph *cuda_graph_of(const struct rec_gpu *g)
{
	return behind(g, GPU_GRAPH);
}

const struct gpu_latency *cuda_latency_of(const struct rec_gpu *g)
{
	return behind(g, GPU_LATENCY);
}

const struct gpu_peer *cuda_peer_of(const struct rec_gpu *g)
{
	return behind(g, GPU_PEER);
}

/* ---- numbers ---- */

/* Nine places, without the zeros at their end; what has no such places as it is. */
static void put_real(struct json *j, double d)
{
	uint64_t whole, part, place = 100000000;

	if (d >= 1e15 && d < 1e300) {
		json_need(j);
		j->at = json_put_double(j->at, d);
		return;
	}
	if (!(d >= 0 && d < 1e15))
		d = 0;
	whole = (uint64_t)d;
	part = (uint64_t)((d - (double)whole) * 1e9 + 0.5);
	if (part >= 1000000000) {
		whole++;
		part = 0;
	}
	json_need(j);
	j->at = json_put_unsigned(j->at, whole);
	*j->at++ = '.';
	do {
		*j->at++ = (char)('0' + part / place);
		part %= place;
		place /= 10;
	} while (part);
}

static void put_triple(struct json *j, uint64_t x, uint64_t y, uint64_t z)
{
	json_need(j);
	*j->at++ = '[';
	j->at = json_put_unsigned(j->at, x);
	*j->at++ = ',';
	j->at = json_put_unsigned(j->at, y);
	*j->at++ = ',';
	j->at = json_put_unsigned(j->at, z);
	*j->at++ = ']';
}

void cuda_put_bandwidth(struct json *j, uint64_t bytes, int64_t ns)
{
	if (ns <= 0)
		return;
	json_lit(j, "\"memory bandwidth (GB/s)\":");
	put_real(j, (double)bytes / (double)ns);
	json_lit(j, ",");
}

void cuda_put_graph(struct json *j, const struct rec_gpu *g)
{
	const struct gpu_graph *graph = cuda_graph_of(g);

	if (!graph || !graph->node)
		return;
	json_lit(j, "\"graph id\":");
	json_unsigned(j, graph->graph);
	json_lit(j, ",\"graph node id\":");
	json_unsigned(j, graph->node);
	json_lit(j, ",");
}

void cuda_put_channel(struct json *j, const struct rec_gpu *g, uint32_t channel)
{
	if (!g->channel_type)
		return;
	json_lit(j, "\"channel\":");
	json_unsigned(j, channel);
	json_lit(j, ",\"channel_type\":");
	json_unsigned(j, g->channel_type);
	json_lit(j, ",");
}

/* ---- occupancy ---- */

static void put_limits(struct json *j, unsigned limits)
{
	static const char *const names[] = { "WARPS", "REGS", "SMEM", "BLOCKS",
					     "BARRIERS" };
	bool first = true;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!(limits & 1u << i))
			continue;
		if (!first)
			json_lit(j, "|");
		first = false;
		json_raw(j, names[i], strlen(names[i]));
	}
	if (first)
		json_lit(j, "none");
}

static void put_member(struct json *j, const char *key, int64_t n)
{
	json_raw(j, key, strlen(key));
	json_number(j, n);
}

static void put_occupancy(struct json *j, const struct occupancy *o)
{
	put_member(j, "\"occupancy\":{\"activeBlocksPerMultiprocessor\":", o->active);
	json_lit(j, ",\"limitingFactors\":\"");
	put_limits(j, o->limits);
	put_member(j, "\",\"blockLimitRegs\":", o->by_registers);
	put_member(j, ",\"blockLimitSharedMem\":", o->by_shared);
	put_member(j, ",\"blockLimitWarps\":", o->by_warps);
	put_member(j, ",\"blockLimitBlocks\":", o->by_blocks);
	put_member(j, ",\"blockLimitBarriers\":", o->by_barriers);
	put_member(j, ",\"allocatedRegistersPerBlock\":", o->registers);
	put_member(j, ",\"allocatedSharedMemPerBlock\":", o->shared);
	json_lit(j, "},");
}

/* A grid may have more blocks than 64 bits count; a double holds them all. */
static double product(uint32_t x, uint32_t y, uint32_t z)
{
	return (double)((uint64_t)x * y) * (double)z;
}

static void put_load(struct trace *t, struct json *j, const struct kernel_shape *s)
{
	const struct rec_device *d =
		s->device < CUDA_DEVICES ? t->cuda->device[s->device] : NULL;
	uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
	double blocks, share, active;
	struct occupancy_kernel k;
	struct occupancy o;

	if (!d || !d->sms)
		return;
	blocks = product(s->grid[0], s->grid[1], s->grid[2]) / d->sms;
	json_lit(j, "\"blocks per SM\":");
	put_real(j, blocks);
	json_lit(j, ",\"warps per SM\":");
	put_real(j, blocks * (double)threads / 32);
	json_lit(j, ",");
	if (threads > UINT32_MAX)
		return;
	k = (struct occupancy_kernel){ (uint32_t)threads, s->registers, s->static_shared,
				       s->dynamic_shared,
				       t->config->occupancy == OCCUPANCY_EXACT };
	if (!occupancy_get(d, &k, &o))
		return;
	active = o.active < blocks ? o.active : blocks;
	share = active * (double)threads / d->threads_per_sm;
	put_member(j, "\"est. achieved occupancy %\":", (int64_t)(share * 100 + 0.5));
	json_lit(j, ",");
	put_occupancy(j, &o);
}

static void put_text(struct trace *t, struct json *j, const struct kernel_shape *s)
{
	put_member(j, "\"registers per thread\":", s->registers);
	put_member(j,
		   ",\"shared memory\":", (int64_t)s->static_shared + s->dynamic_shared);
	json_lit(j, ",\"grid\":");
	put_triple(j, s->grid[0], s->grid[1], s->grid[2]);
	json_lit(j, ",\"block\":");
	put_triple(j, s->block[0], s->block[1], s->block[2]);
	json_lit(j, ",");
	put_load(t, j, s);
}

static size_t hash_of(const struct kernel_shape *s)
{
	uint64_t hash = s->device, word[4];

	_Static_assert(sizeof(*s) == 32, "whole words");
	memcpy(word, s, sizeof(word));
	for (int i = 0; i < 4; i++) {
		hash = (hash ^ word[i]) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	return hash & (KERNEL_SLOTS - 1);
}

void cuda_put_shape(struct trace *t, const struct rec_kernel *k)
{
	struct kernel_shape shape = { .registers = k->registers,
				      .static_shared = k->static_shared,
				      .dynamic_shared = k->dynamic_shared,
				      .device = k->g.device };
	struct kernel_slot *s;
	char text[KERNEL_TEXT + JSON_ROOM];
	struct json j;

	memcpy(shape.grid, k->grid, sizeof(shape.grid));
	memcpy(shape.block, k->block, sizeof(shape.block));
	s = &t->cuda->kernel[hash_of(&shape)];
	if (!s->len || memcmp(&s->shape, &shape, sizeof(shape)) != 0) {
		/* What is written never takes more than KERNEL_TEXT. */
		json_init(&j, text, sizeof(text), NULL, NULL);
		put_text(t, &j, &shape);
		s->shape = shape;
		s->len = (uint32_t)(j.at - text);
		memcpy(s->text, text, s->len);
	}
	json_raw(&t->json, s->text, s->len);
}
