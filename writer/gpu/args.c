/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a GPU event's args, each with a comma behind it. */
#include "base/hash.h"
#include "writer/gpu/cuda.h"
#include "writer/gpu/occupancy.h"

/* ---- what lies behind a record ---- */

const void *gpu_part_behind(const struct rec_gpu *g, enum gpu_flag what)
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

/* By the number of a CUpti_ActivityMemoryKind. */
const char *gpu_memory_name(unsigned kind)
{
	static const char *const names[] = { "Unknown",       "Pageable",      "Pinned",
					     "Device",        "Array",         "Managed",
					     "Device Static", "Managed Static" };

	return names[kind < sizeof(names) / sizeof(*names) ? kind : 0];
}

/* ---- numbers ---- */

/* Writes nine places without the zeros at their end; a number too large for places as it
 * is. */
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
	json_text_unsigned(j, "[", x);
	json_text_unsigned(j, ",", y);
	json_text_unsigned(j, ",", z);
	json_lit(j, "]");
}

/* Bytes per nanosecond are GB/s. */
void gpu_put_bandwidth(struct json *j, uint64_t bytes, int64_t ns)
{
	if (ns <= 0)
		return;
	json_lit(j, "\"memory bandwidth (GB/s)\":");
	put_real(j, (double)bytes / (double)ns);
	json_lit(j, ",");
}

void gpu_put_graph(struct json *j, const struct rec_gpu *g)
{
	const struct gpu_graph *graph = gpu_part_behind(g, GPU_GRAPH);

	if (!graph || !graph->node)
		return;
	json_member(j, "graph id", graph->graph);
	json_member(j, "graph node id", graph->node);
}

void gpu_put_channel(struct json *j, const struct rec_gpu *g, uint32_t channel)
{
	if (!g->channel_type)
		return;
	json_member(j, "channel", channel);
	json_member(j, "channel_type", g->channel_type);
}

/* ---- occupancy ---- */

/* Writes the names of enum occupancy_limit, joined as Kineto joins them; "none" where
 * nothing limits. */
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
		json_text(j, names[i]);
	}
	if (first)
		json_lit(j, "none");
}

/* Members of cudaOccMaxActiveBlocksPerMultiprocessor's result, in Kineto's spelling. */
static void put_occupancy(struct json *j, const struct occupancy *o)
{
	json_text_number(j,
			 "\"occupancy\":{\"activeBlocksPerMultiprocessor\":", o->active);
	json_lit(j, ",\"limitingFactors\":\"");
	put_limits(j, o->limits);
	json_text_number(j, "\",\"blockLimitRegs\":", o->by_registers);
	json_text_number(j, ",\"blockLimitSharedMem\":", o->by_shared);
	json_text_number(j, ",\"blockLimitWarps\":", o->by_warps);
	json_text_number(j, ",\"blockLimitBlocks\":", o->by_blocks);
	json_text_number(j, ",\"blockLimitBarriers\":", o->by_barriers);
	json_text_number(j, ",\"allocatedRegistersPerBlock\":", o->registers);
	json_text_number(j, ",\"allocatedSharedMemPerBlock\":", o->shared);
	json_lit(j, "},");
}

/* A grid may have more blocks than 64 bits count; a double holds any such number. */
static double blocks_in_grid(uint32_t x, uint32_t y, uint32_t z)
{
	return (double)((uint64_t)x * y) * (double)z;
}

/* Kineto's formulas: blocks per SM = blocks of the grid / SMs; warps per SM = that x
 * threads of a block / 32; est. achieved occupancy = min(blocks an SM holds, blocks per
 * SM) x threads of a block / threads of an SM. The plugin refuses texts and ignores a
 * number below 0, so an unknown value is left out. */
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
	blocks = blocks_in_grid(s->grid[0], s->grid[1], s->grid[2]) / d->sms;
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
	json_text_number(j,
			 "\"est. achieved occupancy %\":", (int64_t)(share * 100 + 0.5));
	json_lit(j, ",");
	put_occupancy(j, &o);
}

static void put_text(struct trace *t, struct json *j, const struct kernel_shape *s)
{
	json_text_number(j, "\"registers per thread\":", s->registers);
	json_text_number(
		j, ",\"shared memory\":", (int64_t)s->static_shared + s->dynamic_shared);
	json_lit(j, ",\"grid\":");
	put_triple(j, s->grid[0], s->grid[1], s->grid[2]);
	json_lit(j, ",\"block\":");
	put_triple(j, s->block[0], s->block[1], s->block[2]);
	json_lit(j, ",");
	put_load(t, j, s);
}

/* A program launches a kernel with the same shape again and again: the shape's text is
 * kept. */
void gpu_put_shape(struct trace *t, const struct rec_kernel *k)
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
	_Static_assert(sizeof(shape) == 32, "no byte of it is undefined");
	s = &t->cuda->kernel[hash_bytes(&shape, sizeof(shape)) % KERNEL_SLOTS];
	if (!s->len || memcmp(&s->shape, &shape, sizeof(shape)) != 0) {
		/* The text of a shape never takes more than KERNEL_TEXT. */
		json_init(&j, text, sizeof(text), NULL, NULL);
		put_text(t, &j, &shape);
		s->shape = shape;
		s->len = (uint32_t)(j.at - text);
		memcpy(s->text, text, s->len);
	}
	json_raw(&t->json, s->text, s->len);
}
