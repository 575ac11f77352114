/* SPDX-License-Identifier: Apache-2.0 */
/* Moves calls inside or outside of operators, so that none crosses an edge. */
#include "writer/gpu/cuda.h"

#include <errno.h>

/* A walk along one thread's slices, besides its calls. */
struct walk {
	struct trace *t;
	struct cursor cursor;
	const struct record *next; /* slice that has not begun yet, or NULL */
	struct pile open; /* struct edges: slices around the current place */
	uint64_t floor; /* the last edge passed */
	uint64_t gap; /* ticks: readers want a nanosecond between slices */
};

struct edges {
	uint64_t begin, end; /* ticks */
};

/* The thread's next slice; NULL: there are no more. */
static const struct record *next_slice(struct walk *w)
{
	const struct record *r;
	uint64_t offset;

	while ((r = read_next(&w->cursor, &offset)))
		if (r->kind == REC_OP || r->kind == REC_ANNOTATION || r->kind == REC_STEP)
			return r;
	return NULL;
}

static struct edges *innermost_open(struct walk *w)
{
	return w->open.n ? (struct edges *)w->open.mem + w->open.n - 1 : NULL;
}

/* Passes all edges up to `ticks`: opens slices that begin, closes those that end. */
static int walk_to_ticks(struct walk *w, uint64_t ticks)
{
	struct edges *e, slice;

	for (;;) {
		uint64_t end;

		e = innermost_open(w);
		if (w->next && w->next->begin <= ticks &&
		    !(e && e->end <= w->next->begin)) {
			end = read_end(&w->t->cycle, w->next);
			if (e && end > e->end)
				end = e->end;
			slice = (struct edges){ w->next->begin, end };
			if (pile_add(&w->open, &slice, sizeof(slice)))
				return -ENOMEM;
			w->floor = slice.begin;
			w->next = next_slice(w);
		} else if (e && e->end <= ticks) {
			w->floor = e->end;
			w->open.n--;
		} else {
			return 0;
		}
	}
}

static bool is_within_error(uint64_t a, uint64_t b, uint64_t error)
{
	return (a > b ? a - b : b - a) < error;
}

/* Could the clocks' error have put the call's middle on the wrong side of an edge? */
static bool is_ambiguous(struct walk *w, uint64_t middle, uint64_t error)
{
	struct edges *e = innermost_open(w);

	return is_within_error(middle, w->floor, error) ||
	       (e && is_within_error(middle, e->end, error)) ||
	       (w->next && is_within_error(middle, w->next->begin, error));
}

/* Moves the call behind `edge`: whole where the clocks' error explains it, else cut. */
static void move_call_later(struct cuda_call *c, uint64_t edge, uint64_t error)
{
	if (edge - c->begin <= error)
		c->end += edge - c->begin;
	c->begin = edge;
	if (c->end < edge)
		c->end = edge;
}

/* Moves the call before `edge`, in the same way. */
static void move_call_earlier(struct cuda_call *c, uint64_t edge, uint64_t error,
			      uint64_t floor)
{
	if (edge < floor)
		edge = floor;
	if (c->end < edge)
		return;
	if (c->end - edge <= error) {
		uint64_t by = c->end - edge;

		c->begin = c->begin - floor > by ? c->begin - by : floor;
	}
	c->end = edge;
	if (c->begin > edge)
		c->begin = edge;
}

/*
 * torch runs nothing inside a CUDA call. So a call that lies across the edge of a slice
 * is moved into the slice that has its middle.
 */
static int snap_call(struct walk *w, struct cuda_call *c)
{
	uint64_t error = c->flags & CALL_HOOK ? 0 : w->t->cuda->clock.error;
	bool ambiguous = false;

	for (;;) {
		uint64_t middle;
		struct edges *e;
		int err = walk_to_ticks(w, c->begin);

		if (err)
			return err;
		e = innermost_open(w);
		middle = c->begin + (c->end - c->begin) / 2;
		ambiguous = ambiguous || is_ambiguous(w, middle, error);
		if (w->next && w->next->begin < c->end + w->gap) {
			ambiguous = true;
			if (middle >= w->next->begin) {
				move_call_later(c, w->next->begin, error);
				continue;
			}
			move_call_earlier(c, w->next->begin - w->gap, error, w->floor);
		}
		if (e && c->end > e->end) {
			ambiguous = true;
			if (middle >= e->end) {
				move_call_later(c, e->end, error);
				continue;
			}
			move_call_earlier(c, e->end, error, w->floor);
		}
		break;
	}
	w->t->cuda->known[CUDA_AMBIGUOUS] += ambiguous;
	return 0;
}

/* Snaps the calls of one thread: *call moves behind the last. */
static int snap_thread(struct walk *w, size_t *call, size_t last)
{
	struct cuda *c = w->t->cuda;
	uint32_t tid = read_run(&w->t->cycle, w->cursor.run)->tid;
	int err = 0;

	w->cursor.last = last;
	w->next = next_slice(w);
	w->open.n = 0;
	w->floor = w->t->cycle.begin;
	for (; !err && *call < c->calls.n && cuda_call_at(c, *call)->tid == tid; ++*call)
		err = snap_call(w, cuda_call_at(c, *call));
	return err;
}

int gpu_snap(struct trace *t)
{
	struct cuda *c = t->cuda;
	double per_tick = c->clock.per_tick;
	struct walk w = { .t = t,
			  .gap = per_tick > 0.01 && per_tick < 1
					 ? (uint64_t)(2 / per_tick)
					 : 1 };
	size_t call = 0;
	int err = 0;

	for (size_t first = 0, last; !err && first < t->cycle.runs.n && call < c->calls.n;
	     first = last) {
		uint32_t tid = read_run(&t->cycle, first)->tid;

		last = read_thread(&t->cycle, first);
		while (call < c->calls.n && cuda_call_at(c, call)->tid < tid)
			call++;
		w.cursor = (struct cursor){ .cycle = &t->cycle, .run = first };
		if (call < c->calls.n && cuda_call_at(c, call)->tid == tid)
			err = snap_thread(&w, &call, last);
	}
	pile_free(&w.open);
	return err;
}
