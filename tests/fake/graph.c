/* SPDX-License-Identifier: Apache-2.0 */
/* graph - stream capture and graphs: a list of nodes, each on the lane it came from. */
#include "tests/fake/driver_internal.h"

enum { MAX_LANES = 16 };

static uint32_t next_graph;

bool graph_add(struct fake_stream *stream, const struct fake_node *node)
{
	struct fake_graph *g = stream->capture;

	if (!g)
		return false;
	gpu_lock();
	if (g->count == g->room) {
		g->room = g->room ? 2 * g->room : 16;
		g->node = realloc(g->node, g->room * sizeof(*g->node));
	}
	g->node[g->count] = *node;
	g->node[g->count++].lane = stream;
	gpu_unlock();
	return true;
}

static struct fake_graph *new_graph(void)
{
	struct fake_graph *g = calloc(1, sizeof(*g));

	g->id = __atomic_add_fetch(&next_graph, 1, __ATOMIC_RELAXED);
	return g;
}

int graph_capture_begin(struct fake_stream *stream)
{
	if (stream->legacy)
		return cudaErrorStreamCaptureUnsupported;
	if (stream->capture)
		return cudaErrorInvalidValue;
	stream->capture = new_graph();
	stream->capture->origin = stream;
	return 0;
}

int graph_capture_end(struct fake_stream *stream, struct fake_graph **out)
{
	struct fake_graph *g = stream->capture;

	if (!g || g->origin != stream)
		return cudaErrorInvalidValue;
	for (struct fake_stream *s = stream->context->streams; s; s = s->next)
		if (s->capture == g)
			s->capture = NULL;
	*out = g->invalid ? NULL : g;
	return g->invalid ? cudaErrorStreamCaptureInvalidated : 0;
}

int graph_instantiate(struct fake_exec **out, struct fake_graph *graph)
{
	struct fake_exec *exec = calloc(1, sizeof(*exec));

	exec->graph = new_graph();
	exec->graph->count = exec->graph->room = graph->count;
	exec->graph->node = calloc(graph->count + 1, sizeof(*graph->node));
	if (graph->count)
		memcpy(exec->graph->node, graph->node,
		       graph->count * sizeof(*graph->node));
	*out = exec;
	return 0;
}

static void run_node(const struct fake_node *node)
{
	if (node->work.kind == WORK_COPY)
		memmove(node->to, node->from, node->work.bytes);
	if (node->work.kind == WORK_SET)
		memset(node->to, (int)node->work.value, node->work.bytes);
	if (node->work.kind == WORK_HOST)
		node->host(node->data);
}

/* The nodes of one lane follow each other; lanes run side by side, all on the stream
 * of the launch, as CUPTI tells it. */
int graph_launch(struct fake_exec *exec, struct fake_stream *stream)
{
	struct fake_graph *g = exec->graph;
	struct fake_stream *lane[MAX_LANES] = { NULL };
	uint64_t at[MAX_LANES], first = 0, last = 0;
	struct fake_work whole = { .kind = WORK_GRAPH, .stream = stream, .graph = g->id };
	uint64_t begin = time_now() + (uint64_t)SETTING("FAKE_LATENCY_NS", 5000);

	if (stream->capture)
		return cudaErrorStreamCaptureUnsupported;
	if (stream->last_end + 500 > begin)
		begin = stream->last_end + 500;
	for (size_t i = 0; i < g->count; i++) {
		struct fake_work work = g->node[i].work;
		size_t l = 0;

		while (l < MAX_LANES - 1 && lane[l] && lane[l] != g->node[i].lane)
			l++;
		if (!lane[l])
			at[l] = begin;
		lane[l] = g->node[i].lane;
		run_node(&g->node[i]);
		work.stream = stream;
		work.graph = g->id;
		work.node = (uint64_t)g->id << 32 | (i + 1);
		work.queued = begin;
		work.start = at[l];
		work.end = work.start + time_duration(&work);
		at[l] = work.end + 300;
		if (!first || work.start < first)
			first = work.start;
		if (work.end > last)
			last = work.end;
		gpu_lock();
		totals.kernels += work.kind == WORK_KERNEL;
		totals.copies += work.kind == WORK_COPY;
		totals.sets += work.kind == WORK_SET;
		if (work.kind == WORK_KERNEL)
			totals.kernel_ns += work.end - work.start;
		gpu_unlock();
		observer->work(&work);
	}
	whole.start = first ? first : begin;
	whole.end = last ? last : begin + 1000;
	return time_submit(&whole);
}
