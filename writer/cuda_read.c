/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "writer/cuda_parts.h"
#include "writer/sort.h"

#include <errno.h>

/* ---- what is there ---- */

static int add_call(struct cuda *c, const struct rec_call *r, uint64_t at, uint32_t tid,
		    bool hook)
{
	struct cuda_call *call;

	if (!r->r.begin) {
		c->known[CUDA_ZERO]++;
		return 0;
	}
	call = pile_push(&c->calls, sizeof(*call));
	if (!call)
		return -ENOMEM;
	*call = (struct cuda_call){
		.begin = r->r.begin,
		.end = r->r.end,
		.at = at,
		.tid = tid,
		.correlation = r->correlation,
		.flags = (uint16_t)(hook ? r->r.flags | CALL_HOOK : r->r.flags),
	};
	return 0;
}

static int add_work(struct cuda *c, const struct record *r, uint64_t at, uint64_t row,
		    bool in_ticks)
{
	struct cuda_work *w;

	if (!r->begin || !r->end || r->end < r->begin) {
		c->known[r->begin && r->end ? CUDA_REVERSED : CUDA_ZERO]++;
		return 0;
	}
	w = pile_push(&c->work, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct cuda_work){
		.begin = (int64_t)r->begin,
		.end = (int64_t)r->end,
		.row = row,
		.at = (uint32_t)(at / 8),
		.kind = r->kind,
		.in_ticks = in_ticks,
	};
	return 0;
}

static void note_context(struct cuda *c, uint32_t context, uint32_t device)
{
	for (unsigned i = 0; i < c->contexts; i++)
		if (c->context[i].context == context)
			return;
	if (c->contexts == CUDA_DEVICES)
		return;
	c->context[c->contexts].context = context;
	c->context[c->contexts++].device = device;
}

uint32_t cuda_device_of(const struct cuda *c, uint32_t context)
{
	for (unsigned i = 0; i < c->contexts; i++)
		if (c->context[i].context == context)
			return c->context[i].device;
	return 0;
}

static int add_gpu(struct cuda *c, const struct record *r, uint64_t at, bool in_ticks)
{
	const struct rec_gpu *g = (const struct rec_gpu *)r;

	if (g->device != 255)
		note_context(c, g->context, g->device);
	return add_work(c, r, at,
			cuda_row_of(ROW_STREAM, g->device, cuda_stream(g->stream)),
			in_ticks);
}

static int add_sync(struct cuda *c, const struct rec_sync *s, uint64_t at)
{
	bool on_stream = s->type == 2 || s->type == 3;

	/* The device is found by the context once all are known. */
	return add_work(c, &s->r, at,
			cuda_row_of(!on_stream     ? ROW_DEVICE
				    : s->type == 3 ? ROW_SYNC
						   : ROW_STREAM,
				    0, on_stream ? cuda_stream(s->stream) : 0),
			false);
}

static int add_event(struct cuda *c, const struct rec_event *r, uint64_t at)
{
	struct cuda_event *e = pile_push(&c->events, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct cuda_event){ .key = (uint64_t)r->context << 32 | r->event,
				  .at = (uint32_t)(at / 8) };
	if (!r->r.begin)
		return 0;
	return add_work(c, &r->r, at, cuda_row_of(ROW_STREAM, 0, cuda_stream(r->stream)),
			false);
}

static int add_block(struct cuda *c, uint64_t at)
{
	uint64_t *to = pile_push(&c->blocks, sizeof(*to));

	if (to)
		*to = at;
	return to ? 0 : -ENOMEM;
}

static void note_device(struct cuda *c, const struct rec_device *d)
{
	if (d->id >= CUDA_DEVICES)
		return;
	c->device[d->id] = d;
	if (d->id >= c->devices)
		c->devices = d->id + 1;
}

/* A record of a CHUNK_CUDA. */
static int add(struct cuda *c, const struct record *r, uint64_t at)
{
	switch (r->kind) {
	case REC_CALL:
		return add_call(c, (const struct rec_call *)r, at,
				((const struct rec_call *)r)->tid, false);
	case REC_KERNEL:
	case REC_COPY:
	case REC_SET:
	case REC_GRAPH:
		return add_gpu(c, r, at, false);
	case REC_SYNC:
		return add_sync(c, (const struct rec_sync *)r, at);
	case REC_EVENT:
		return add_event(c, (const struct rec_event *)r, at);
	case REC_OVERHEAD:
		return add_work(c, r, at, cuda_row_of(ROW_OVERHEAD, 0, 0), false);
	case REC_BLOCK:
		return add_block(c, at);
	default:
		return 0;
	}
}

static int scan_chunk(uint64_t offset, void *arg)
{
	struct trace *t = arg;
	struct cuda *c = t->cuda;
	const struct record *r;
	uint64_t at, end, here;
	int err = 0;

	if (!read_chunk(t->view, offset, CHUNK_CUDA, &at, &end))
		return 0;
	while (here = at, !err && at < end && (r = read_step(t->view, &at, end))) {
		if (r->kind == REC_MOMENT) {
			err = cuda_clock_add(&c->clock, (const struct rec_moment *)r);
		} else if (r->kind == REC_GPU) {
			note_device(c, (const struct rec_device *)r);
		} else if (r->kind >= REC_CALL && r->kind <= REC_BLOCK) {
			err = add(c, r, here);
			t->cycle.events[r->kind]++;
		}
	}
	return err;
}

/* What the hooks said, in the threads' own chunks. */
static int scan_threads(struct trace *t)
{
	struct cursor cursor = { .cycle = &t->cycle, .last = t->cycle.runs.n };
	struct cuda *c = t->cuda;
	const struct record *r;
	uint64_t at;
	int err = 0;

	while (!err && (r = read_next(&cursor, &at))) {
		uint32_t tid = read_run(&t->cycle, cursor.run)->tid;

		if (r->kind == REC_CALL) {
			err = add_call(c, (const struct rec_call *)r, at, tid, true);
		} else if (r->kind >= REC_KERNEL && r->kind <= REC_SET) {
			err = add_gpu(c, r, at, true);
		} else if (r->kind == REC_STACK) {
			struct cuda_stack *s = pile_push(&c->stacks, sizeof(*s));

			if (!s)
				return -ENOMEM;
			*s = (struct cuda_stack){ r->begin, at, tid, 0 };
		}
	}
	return err;
}

static bool has_hooks(const struct cycle_read *c)
{
	return c->events[REC_CALL] || c->events[REC_KERNEL] || c->events[REC_COPY] ||
	       c->events[REC_SET] || c->events[REC_STACK];
}

static bool is_there(const struct trace *t)
{
	const struct cuda *c = t->cuda;

	for (unsigned i = 0; i < CUDA_COUNTS; i++)
		if (c->known[i] || atomic_load(&((struct cycle_info *)t->info)->cuda[i]))
			return true;
	return c->calls.n || c->work.n || c->blocks.n || c->events.n || c->devices ||
	       c->clock.moments.n;
}

static uint64_t in_window(const struct trace *t, uint64_t ticks)
{
	return ticks < t->cycle.begin ? t->cycle.begin
	       : ticks > t->cycle.end ? t->cycle.end
				      : ticks;
}

/* CUPTI's nanoseconds become ticks; who died in the window had it open to here. */
static void calls_to_ticks(struct trace *t, bool open)
{
	struct cuda *c = t->cuda;

	for (size_t i = 0; i < c->calls.n; i++) {
		struct cuda_call *call = cuda_call_at(c, i);

		if (call->end && call->end < call->begin)
			c->known[CUDA_REVERSED]++;
		if (!(call->flags & CALL_HOOK)) {
			call->begin = cuda_clock_ticks(&c->clock, call->begin);
			call->end =
				call->end ? cuda_clock_ticks(&c->clock, call->end) : 0;
		}
		if (!call->end)
			call->end = t->cycle.end;
		if (call->end < call->begin)
			call->end = call->begin;
		if (open && call->end >= t->cycle.end &&
		    call->end < cuda_clock_later(&c->clock, t->cycle.end, CUDA_BEHIND))
			t->cycle.end = call->end + 1;
	}
	for (size_t i = 0; i < c->calls.n; i++) {
		struct cuda_call *call = cuda_call_at(c, i);

		call->begin = in_window(t, call->begin);
		call->end = in_window(t, call->end);
	}
}

static bool call_before(const void *left, const void *right)
{
	const struct cuda_call *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid;
	if (a->begin != b->begin)
		return a->begin < b->begin;
	return a->end > b->end;
}

int cuda_read(struct trace *t)
{
	bool open = !t->info->end || t->info->end < t->info->begin;
	bool hooks = has_hooks(&t->cycle);
	struct cuda *c = t->cuda = pile_map(sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = read_chunks(t->index, t->info->number, scan_chunk, t);
	if (!err && hooks)
		err = scan_threads(t);
	if (err)
		return err;
	if (!is_there(t)) {
		cuda_free(t);
		return 0;
	}
	err = cuda_clock_ready(&c->clock, t->view->head, t->cycle.begin, t->cycle.end);
	calls_to_ticks(t, open);
	if (!err)
		err = sort_merge(c->calls.mem, c->calls.n, sizeof(struct cuda_call),
				 call_before);
	return err;
}

void cuda_free(struct trace *t)
{
	struct cuda *c = t->cuda;

	if (!c)
		return;
	pile_free(&c->calls);
	pile_free(&c->work);
	pile_free(&c->blocks);
	pile_free(&c->events);
	pile_free(&c->stacks);
	pile_free(&c->owners);
	pile_free(&c->annotations);
	pile_free(&c->collectives);
	pile_free(&c->clock.moments);
	pile_unmap(c->by_correlation, c->slots * sizeof(*c->by_correlation));
	demangle_free(c->demangle);
	if (c->symbols)
		symbols_free(c->symbols);
	pile_unmap(c, sizeof(*c));
	t->cuda = NULL;
}
