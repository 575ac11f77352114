/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose GPU work should be there and is not. */
#include "agent/core/names.h"
#include "base/search.h"
#include "writer/gpu/cuda.h"
#include "writer/sort.h"

#include <errno.h>

/* Calls that are made while a stream is captured add to a graph: nothing runs yet. */

struct edge {
	uint64_t ticks;
	bool begins;
};

static bool edge_before(const void *left, const void *right)
{
	return ((const struct edge *)left)->ticks < ((const struct edge *)right)->ticks;
}

static bool is_called(const struct name *n, const char *with)
{
	return n && memmem(n->text, n->len, with, strlen(with)) != NULL;
}

/* Finds the begins and ends of captures, by time. Neighbouring calls often have the same
 * name, which is then looked at once. */
static int find_edges(struct trace *t, struct pile *edges)
{
	struct cuda *c = t->cuda;
	uint32_t last = 0;
	bool begins = false, ends = false;

	for (size_t i = 0; i < c->calls.n; i++) {
		const struct cuda_call *call = cuda_call_at(c, i);
		const struct record *r = cuda_record(t, call->at);
		struct edge e;

		if (call->flags & CALL_LAUNCHES)
			continue;
		if (r->name != last) {
			const struct name *n = names_get(t->view, r->name);

			last = r->name;
			begins = is_called(n, "StreamBeginCapture");
			ends = is_called(n, "StreamEndCapture");
		}
		if (!begins && !ends)
			continue;
		e = (struct edge){ begins ? call->begin : call->end, begins };
		if (pile_add(edges, &e, sizeof(e)))
			return -ENOMEM;
	}
	return sort_merge(edges->mem, edges->n, sizeof(struct edge), edge_before);
}

/* Makes spans of the edges. Captures of several streams that overlap are one span; a
 * capture may have begun before the window. */
static int find_captures(struct trace *t, struct pile *spans)
{
	struct pile edges = { 0 };
	int err = find_edges(t, &edges);
	const struct edge *e = edges.mem;
	uint64_t from = t->cycle.begin;
	size_t depth = edges.n && !e[0].begins;

	for (size_t i = 0; !err && i < edges.n; i++) {
		struct span span;

		if (e[i].begins && !depth++)
			from = e[i].ticks;
		if (e[i].begins ? i + 1 < edges.n : !depth || --depth)
			continue;
		span = (struct span){ from, e[i].begins ? t->cycle.end : e[i].ticks };
		err = pile_add(spans, &span, sizeof(span));
	}
	pile_free(&edges);
	return err;
}

/* Does a span contain the moment? Spans lie apart and in order. */
static bool is_inside(const struct pile *spans, uint64_t ticks)
{
	const struct span *span = spans->mem;
	size_t at = SEARCH_FIRST(i, 0, spans->n, span[i].end >= ticks);

	return at < spans->n && span[at].begin <= ticks;
}

int gpu_count_missing(struct trace *t)
{
	struct cuda *c = t->cuda;
	struct pile captures = { 0 };
	int err = find_captures(t, &captures);

	for (size_t i = 0; !err && i < c->calls.n; i++) {
		const struct cuda_call *call = cuda_call_at(c, i);
		const struct rec_call *r = cuda_record(t, call->at);

		if (call->flags & CALL_LAUNCHES && !call->first &&
		    !(call->marks & MARK_UNDER) && !r->result &&
		    !is_inside(&captures, call->begin))
			c->known[CUDA_MISSING]++;
	}
	pile_free(&captures);
	return err;
}
