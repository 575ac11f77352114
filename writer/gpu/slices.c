/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a piece of GPU work as a slice, and the end of its arrow. */
#include "base/fmt.h"
#include "writer/collective.h"
#include "writer/gpu/cuda.h"
#include "writer/symbols/demangle.h"

/* ---- the parts of a slice ---- */

/* The plugin joins kernels to operators by "External id". Without that member plugin
 * 0.4.3 loses the kernel from its tables by operator, so the dialect tb043 says 0 for
 * none. */
static void put_external(struct trace *t, const struct cuda_work *w)
{
	const struct cuda_call *call = cuda_caller(t->cuda, w);
	uint64_t external = call ? call->external : 0;

	if (external || t->config->dialect == DIALECT_TB043)
		json_member(&t->json, "External id", external);
}

static void put_collective(struct trace *t, const struct cuda_work *w)
{
	const struct cuda_call *call = cuda_caller(t->cuda, w);
	const struct gpu_collective *of;
	struct collective found;

	if (!call || !call->collective)
		return;
	of = (struct gpu_collective *)t->cuda->collectives.mem + call->collective - 1;
	if (collective_find(&found, &of->behind, cuda_record(t, of->at)))
		collective_write(&found, &t->json, true);
}

/* HTA reads stream and correlation of each piece of work, the plugin reads its device. */
static void put_where(struct trace *t, const struct cuda_work *w, const struct rec_gpu *g)
{
	struct json *j = &t->json;

	json_member(j, "device", cuda_row_device(w->row));
	json_member(j, "context", g->context);
	json_member(j, "stream", cuda_stream(g->stream));
	json_member(j, "correlation", g->correlation);
}

/* The last member has no comma behind it. */
static void close_args(struct json *j)
{
	if (j->at > j->start && j->at[-1] == ',')
		j->at--;
	json_lit(j, "}},\n");
}

/* ---- kernels, copies, sets, graphs ---- */

/* Each kernel of Kineto's has "queued". A kernel that the hooks measured has no shape: it
 * is marked as an estimate. */
static void put_kernel(struct trace *t, const struct cuda_work *w)
{
	const struct rec_kernel *k = (const struct rec_kernel *)cuda_gpu(t, w);
	const struct gpu_latency *latency = gpu_part_behind(&k->g, GPU_LATENCY);
	struct json *j = &t->json;

	put_external(t, w);
	json_member(j, "queued", latency ? latency->queued : 0);
	if (latency && latency->submitted)
		json_member(j, "submitted", latency->submitted);
	put_where(t, w, &k->g);
	if (k->g.r.flags & GPU_ESTIMATE)
		json_lit(j, "\"estimate\":true,");
	else
		gpu_put_shape(t, k);
	gpu_put_graph(j, &k->g);
	if (k->g.priority) {
		json_text_number(j, "\"priority\":", k->g.priority);
		json_lit(j, ",");
	}
	gpu_put_channel(j, &k->g, k->channel);
	put_collective(t, w);
}

static const char *const ways[] = { "<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
				    "AtoD",      "DtoA", "DtoD", "HtoH", "PtoP" };

/* CUPTI's copy kinds in Kineto's letters. */
static const char *copy_way_name(unsigned kind)
{
	return ways[kind < sizeof(ways) / sizeof(*ways) ? kind : 0];
}

/* A copy between devices names both ends, and the device that carried it out. */
static void put_peer(struct trace *t, const struct rec_copy *c, const struct gpu_peer *p)
{
	struct json *j = &t->json;

	json_member(j, "fromDevice", p->from_device);
	json_member(j, "inDevice", c->g.device);
	json_member(j, "toDevice", p->to_device);
	json_member(j, "fromContext", p->from_context);
	json_member(j, "inContext", c->g.context);
	json_member(j, "toContext", p->to_context);
	json_member(j, "stream", cuda_stream(c->g.stream));
	json_member(j, "correlation", c->g.correlation);
}

static void put_copy(struct trace *t, const struct cuda_work *w, int64_t ns)
{
	const struct rec_copy *c = (const struct rec_copy *)cuda_gpu(t, w);
	const struct gpu_peer *peer = gpu_part_behind(&c->g, GPU_PEER);
	struct json *j = &t->json;

	put_external(t, w);
	if (peer)
		put_peer(t, c, peer);
	else
		put_where(t, w, &c->g);
	json_member(j, "bytes", c->bytes);
	gpu_put_bandwidth(j, c->bytes, ns);
	gpu_put_graph(j, &c->g);
	gpu_put_channel(j, &c->g, c->channel);
	put_collective(t, w);
}

static void put_set(struct trace *t, const struct cuda_work *w, int64_t ns)
{
	const struct rec_set *s = (const struct rec_set *)cuda_gpu(t, w);
	struct json *j = &t->json;

	put_external(t, w);
	put_where(t, w, &s->g);
	json_member(j, "bytes", s->bytes);
	gpu_put_bandwidth(j, s->bytes, ns);
	gpu_put_graph(j, &s->g);
	gpu_put_channel(j, &s->g, s->channel);
}

static void put_graph(struct trace *t, const struct cuda_work *w)
{
	const struct rec_graph *g = (const struct rec_graph *)cuda_gpu(t, w);

	put_external(t, w);
	put_where(t, w, &g->g);
	json_member(&t->json, "graph id", g->graph);
}

/* The names by CUPTI's kinds of overhead, which it counts in the upper half of the word;
 * only the compiler's is 1. */
static const char *overhead_name(uint32_t kind)
{
	static const char *const names[] = {
		"Unknown",
		"Buffer Flush",
		"Instrumentation",
		"Resource",
		"Runtime Triggered Module Loading",
		"Lazy Function Loading",
		"Command Buffer Full",
		"Activity Buffer Request",
		"UVM Initialization",
	};

	if (kind == 1)
		return "Driver Compiler";
	kind = kind & 0xffff ? 0 : kind >> 16;
	return names[kind < sizeof(names) / sizeof(*names) ? kind : 0];
}

/* Writes category and name, up to the row. */
static void begin_work(struct trace *t, const struct cuda_work *w)
{
	const struct rec_gpu *g = cuda_gpu(t, w);
	const char *cat = "kernel", *name;
	size_t len;
	char text[64];

	switch (w->kind) {
	case REC_KERNEL:
		name = demangle_json(t->cuda->demangle, t->view, g->r.name, &len);
		if (len == 6 && !memcmp(name, "kernel", 6))
			name = "Kernel";
		break;
	case REC_COPY: {
		const struct rec_copy *c = (const struct rec_copy *)g;

		cat = "gpu_memcpy";
		name = text;
		len = fmt(text, sizeof(text), "Memcpy %s (%s -> %s)",
			  copy_way_name(c->kind), gpu_memory_name(c->from),
			  gpu_memory_name(c->to));
		break;
	}
	case REC_SET:
		cat = "gpu_memset";
		name = text;
		len = fmt(text, sizeof(text), "Memset (%s)",
			  gpu_memory_name(((const struct rec_set *)g)->memory));
		break;
	case REC_GRAPH:
		name = text;
		len = fmt(text, sizeof(text), "CUDA graph %u",
			  ((const struct rec_graph *)g)->graph);
		break;
	default:
		cat = "overhead";
		name = overhead_name(((const struct rec_overhead *)g)->kind);
		len = strlen(name);
	}
	gpu_put_head(t, w, cat, name, len);
}

/* Readers follow an arrow only forwards in time: the arrow is moved, the slice stays. */
static void put_arrow(struct trace *t, const struct cuda_work *w, uint32_t id,
		      int64_t begin, int64_t end)
{
	const struct cuda_call *call = cuda_call_at(t->cuda, w->call - 1);
	struct json *j = &t->json;

	if (call->marks & MARK_EARLY && begin <= call->begin_ns)
		begin = call->begin_ns < end ? call->begin_ns + 1 : end;
	json_text_unsigned(j, "{\"ph\":\"f\",\"id\":", id);
	json_lit(j, ",\"pid\":");
	gpu_put_row(t, w->row, w->lane);
	slice_text_ts(t, ",\"ts\":", begin);
	json_lit(j, ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},\n");
}

/* Writes one slice. The arrow ends at the first work of its call, unless that work ends
 * before the call begins. */
int gpu_put_work(struct trace *t, struct row *row, size_t i)
{
	const struct cuda_work *w = cuda_work_at(t->cuda, i);
	const struct cuda_call *call = cuda_caller(t->cuda, w);
	struct json *j = &t->json;
	int64_t begin, end;
	int err = row_place(row, (uint64_t)w->begin, (uint64_t)w->end, &begin, &end);

	if (err)
		return err;
	if (w->kind == REC_SYNC || w->kind == REC_EVENT) {
		(w->kind == REC_SYNC ? gpu_put_sync : gpu_put_event)(t, w, begin, end);
	} else {
		begin_work(t, w);
		slice_times(t, begin, end);
		json_lit(j, ",\"args\":{");
		if (w->kind == REC_KERNEL)
			put_kernel(t, w);
		else if (w->kind == REC_COPY)
			put_copy(t, w, w->end - w->begin);
		else if (w->kind == REC_SET)
			put_set(t, w, w->end - w->begin);
		else if (w->kind == REC_GRAPH)
			put_graph(t, w);
		close_args(j);
	}
	if (call && call->first == i + 1 && !(call->marks & MARK_NO_ARROW))
		put_arrow(t, w, call->correlation, begin, end);
	return j->err;
}
