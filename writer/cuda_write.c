/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/fmt.h"
#include "writer/cuda_parts.h"

#include <errno.h>

/* ---- the parts of a slice ---- */

static void put_head(struct trace *t, const char *cat, const char *name, size_t len,
		     uint64_t row, unsigned lane)
{
	struct json *j = &t->json;

	json_lit(j, "{\"ph\":\"X\",\"cat\":\"");
	json_raw(j, cat, strlen(cat));
	json_lit(j, "\",\"name\":\"");
	json_raw(j, name, len);
	json_lit(j, "\",\"pid\":");
	cuda_put_row(t, row, lane);
}

static void put_member(struct json *j, const char *key, uint64_t n)
{
	json_raw(j, key, strlen(key));
	json_unsigned(j, n);
	json_lit(j, ",");
}

static void put_external(struct trace *t, const struct cuda_work *w)
{
	uint64_t external = w->call ? cuda_call_at(t->cuda, w->call - 1)->external : 0;

	if (external || t->config->dialect == DIALECT_TB043)
		put_member(&t->json, "\"External id\":", external);
}

static void put_collective(struct trace *t, const struct cuda_work *w)
{
	uint32_t number = w->call ? cuda_call_at(t->cuda, w->call - 1)->collective : 0;
	const struct cuda_collective *of;
	struct collective found;

	if (!number)
		return;
	of = (struct cuda_collective *)t->cuda->collectives.mem + number - 1;
	if (collective_find(&found, &of->behind, cuda_record(t, of->at)))
		collective_write(&found, &t->json, true);
}

static void put_where(struct trace *t, const struct cuda_work *w, const struct rec_gpu *g)
{
	struct json *j = &t->json;

	put_member(j, "\"device\":", w->row >> 40 & 0xff);
	put_member(j, "\"context\":", g->context);
	put_member(j, "\"stream\":", cuda_stream(g->stream));
	put_member(j, "\"correlation\":", g->correlation);
}

/* The last member has no comma behind it. */
static void close_args(struct json *j)
{
	if (j->at > j->start && j->at[-1] == ',')
		j->at--;
	json_lit(j, "}},\n");
}

/* ---- kernels, copies, sets, graphs ---- */

static void put_kernel(struct trace *t, const struct cuda_work *w)
{
	const struct rec_kernel *k = (const struct rec_kernel *)cuda_gpu(t, w);
	const struct gpu_latency *latency = cuda_latency_of(&k->g);
	struct json *j = &t->json;

	put_external(t, w);
	put_member(j, "\"queued\":", latency ? latency->queued : 0);
	if (latency && latency->submitted)
		put_member(j, "\"submitted\":", latency->submitted);
	put_where(t, w, &k->g);
	if (k->g.r.flags & GPU_ESTIMATE)
		json_lit(j, "\"estimate\":true,");
	else
		cuda_put_shape(t, k);
	cuda_put_graph(j, &k->g);
	if (k->g.priority) {
		json_lit(j, "\"priority\":");
		json_number(j, k->g.priority);
		json_lit(j, ",");
	}
	cuda_put_channel(j, &k->g, k->channel);
	put_collective(t, w);
}

static const char *const memories[] = { "Unknown",       "Pageable",      "Pinned",
					"Device",        "Array",         "Managed",
					"Device Static", "Managed Static" };
static const char *const ways[] = { "<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
				    "AtoD",      "DtoA", "DtoD", "HtoH", "PtoP" };

static const char *memory(unsigned kind)
{
	return memories[kind < sizeof(memories) / sizeof(*memories) ? kind : 0];
}

static const char *way(unsigned kind)
{
	return ways[kind < sizeof(ways) / sizeof(*ways) ? kind : 0];
}

static void put_peer(struct trace *t, const struct rec_copy *c, const struct gpu_peer *p)
{
	struct json *j = &t->json;

	put_member(j, "\"fromDevice\":", p->from_device);
	put_member(j, "\"inDevice\":", c->g.device);
	put_member(j, "\"toDevice\":", p->to_device);
	put_member(j, "\"fromContext\":", p->from_context);
	put_member(j, "\"inContext\":", c->g.context);
	put_member(j, "\"toContext\":", p->to_context);
	put_member(j, "\"stream\":", cuda_stream(c->g.stream));
	put_member(j, "\"correlation\":", c->g.correlation);
}

static void put_copy(struct trace *t, const struct cuda_work *w, int64_t ns)
{
	const struct rec_copy *c = (const struct rec_copy *)cuda_gpu(t, w);
	const struct gpu_peer *peer = cuda_peer_of(&c->g);
	struct json *j = &t->json;

	put_external(t, w);
	if (peer)
		put_peer(t, c, peer);
	else
		put_where(t, w, &c->g);
	put_member(j, "\"bytes\":", c->bytes);
	cuda_put_bandwidth(j, c->bytes, ns);
	cuda_put_graph(j, &c->g);
	cuda_put_channel(j, &c->g, c->channel);
	put_collective(t, w);
}

static void put_set(struct trace *t, const struct cuda_work *w, int64_t ns)
{
	const struct rec_set *s = (const struct rec_set *)cuda_gpu(t, w);
	struct json *j = &t->json;

	put_external(t, w);
	put_where(t, w, &s->g);
	put_member(j, "\"bytes\":", s->bytes);
	cuda_put_bandwidth(j, s->bytes, ns);
	cuda_put_graph(j, &s->g);
	cuda_put_channel(j, &s->g, s->channel);
}

static void put_graph(struct trace *t, const struct cuda_work *w)
{
	const struct rec_graph *g = (const struct rec_graph *)cuda_gpu(t, w);

	put_external(t, w);
	put_where(t, w, &g->g);
	put_member(&t->json, "\"graph id\":", g->graph);
}

static const char *overhead(uint32_t kind)
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

/* Category and name, up to the row. */
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
		len = fmt(text, sizeof(text), "Memcpy %s (%s -> %s)", way(c->kind),
			  memory(c->from), memory(c->to));
		break;
	}
	case REC_SET:
		cat = "gpu_memset";
		name = text;
		len = fmt(text, sizeof(text), "Memset (%s)",
			  memory(((const struct rec_set *)g)->memory));
		break;
	case REC_GRAPH:
		name = text;
		len = fmt(text, sizeof(text), "CUDA graph %u",
			  ((const struct rec_graph *)g)->graph);
		break;
	default:
		cat = "overhead";
		name = overhead(((const struct rec_overhead *)g)->kind);
		len = strlen(name);
	}
	put_head(t, cat, name, len, w->row, w->lane);
}

/* Readers follow an arrow only forwards in time: it is put right, the slice stays. */
static void put_arrow(struct trace *t, const struct cuda_work *w, uint32_t id,
		      int64_t begin, int64_t end)
{
	const struct cuda_call *call = cuda_call_at(t->cuda, w->call - 1);
	struct json *j = &t->json;

	if (call->marks & MARK_EARLY && begin <= call->begin_ns)
		begin = call->begin_ns < end ? call->begin_ns + 1 : end;
	json_lit(j, "{\"ph\":\"f\",\"id\":");
	json_unsigned(j, id);
	json_lit(j, ",\"pid\":");
	cuda_put_row(t, w->row, w->lane);
	json_lit(j, ",\"ts\":");
	json_need(j);
	j->at = json_put_us(j->at, trace_ts(t, begin));
	json_lit(j, ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},\n");
}

int cuda_put_work(struct trace *t, struct row *row, size_t i)
{
	const struct cuda_work *w = cuda_work_at(t->cuda, i);
	const struct cuda_call *call =
		w->call ? cuda_call_at(t->cuda, w->call - 1) : NULL;
	struct json *j = &t->json;
	int64_t begin, end;
	int err = row_place(row, (uint64_t)w->begin, (uint64_t)w->end, &begin, &end);

	if (err)
		return err;
	if (w->kind == REC_SYNC || w->kind == REC_EVENT) {
		if (w->kind == REC_SYNC)
			cuda_put_sync(t, w, begin, end);
		else
			cuda_put_event(t, w, begin, end);
	} else {
		begin_work(t, w);
		trace_put_times(t, begin, end);
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
