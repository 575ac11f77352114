/* SPDX-License-Identifier: Apache-2.0 */
/* A cycle's records of the GPU, read from its chunks. */
#include "agent/core/chunk.h"
#include "agent/core/clock.h"
#include "writer/gpu/cuda.h"
#include "writer/sort.h"
#include "writer/symbols/demangle.h"
#include "writer/symbols/symbols.h"

#include <errno.h>

/* ---- what is there ---- */

/* CUPTI gives begin 0 to a call whose times it has lost. */
static int add_call(struct cuda *c, const struct rec_call *r, uint64_t at, uint32_t tid,
		    bool hook)
{
	struct cuda_call call;

	if (!r->r.begin) {
		c->known[CUDA_ZERO]++;
		return 0;
	}
	call = (struct cuda_call){
		.begin = r->r.begin,
		.end = r->r.end,
		.at = at,
		.tid = tid,
		.correlation = r->correlation,
		.flags = (uint16_t)(hook ? r->r.flags | CALL_HOOK : r->r.flags),
	};
	return pile_add(&c->calls, &call, sizeof(call));
}

/* Work without a time, or with its end before its begin, is counted and left out. */
static int add_work(struct cuda *c, const struct record *r, uint64_t at, uint64_t row,
		    bool in_ticks)
{
	struct cuda_work w;

	if (!r->begin || !r->end || r->end < r->begin) {
		c->known[r->begin && r->end ? CUDA_REVERSED : CUDA_ZERO]++;
		return 0;
	}
	w = (struct cuda_work){
		.begin = (int64_t)r->begin,
		.end = (int64_t)r->end,
		.row = row,
		.at = (uint32_t)(at / 8),
		.kind = r->kind,
		.in_ticks = in_ticks,
	};
	return pile_add(&c->work, &w, sizeof(w));
}

/* The first work in a context tells its device; waits and events name a context only. */
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

uint32_t gpu_device_of(const struct cuda *c, uint32_t context)
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

/* A stream's wait for an event lies on the stream's row, the host's wait for a stream on
 * a row beside it, as Kineto places them since 2026-04; all other waits lie on the
 * device's row. */
static int add_sync(struct cuda *c, const struct rec_sync *s, uint64_t at)
{
	bool on_stream = s->type == 2 || s->type == 3;

	/* find_device sets the device later, when all contexts are known. */
	return add_work(c, &s->r, at,
			cuda_row_of(!on_stream     ? ROW_DEVICE
				    : s->type == 3 ? ROW_SYNC
						   : ROW_STREAM,
				    0, on_stream ? cuda_stream(s->stream) : 0),
			false);
}

/* An event without a time of its own tells only the place where it was recorded. */
static int add_event(struct cuda *c, const struct rec_event *r, uint64_t at)
{
	const struct cuda_event e = { .key = (uint64_t)r->context << 32 | r->event,
				      .at = (uint32_t)(at / 8) };
	int err = pile_add(&c->events, &e, sizeof(e));

	if (err || !r->r.begin)
		return err;
	return add_work(c, &r->r, at, cuda_row_of(ROW_STREAM, 0, cuda_stream(r->stream)),
			false);
}

static void note_device(struct cuda *c, const struct rec_device *d)
{
	if (d->id >= CUDA_DEVICES)
		return;
	c->device[d->id] = d;
	if (d->id >= c->devices)
		c->devices = d->id + 1;
}

/* Counts records without a name. Neighbours often have the same name, which is then
 * looked up once. */
static void count_nameless(struct trace *t, const struct record *r)
{
	uint32_t *named = &t->cuda->named[r->kind == REC_KERNEL];
	const struct name *n;

	if (r->kind != REC_CALL && r->kind != REC_KERNEL && r->kind != REC_GPU)
		return;
	if (r->name && r->name == *named)
		return;
	n = names_get(t->view, r->name);
	if (n && n->len)
		*named = r->name;
	else
		t->cuda->known[CUDA_UNNAMED]++;
}

/* Adds a record of a CHUNK_CUDA. */
static int add_record(struct cuda *c, const struct record *r, uint64_t at)
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
		count_nameless(t, r);
		if (r->kind == REC_MOMENT) {
			err = gpu_clock_add(&c->clock, (const struct rec_moment *)r);
		} else if (r->kind == REC_GPU) {
			note_device(c, (const struct rec_device *)r);
		} else if (r->kind >= REC_CALL && r->kind <= REC_BLOCK) {
			const struct timed_record block = { r->begin, here };

			err = r->kind == REC_BLOCK
				      ? pile_add(&t->cycle.blocks, &block, sizeof(block))
				      : add_record(c, r, here);
			t->cycle.events[r->kind]++;
		}
	}
	return err;
}

/* Reads the records of the agent's hooks, which lie in the threads' own chunks. */
static int scan_threads(struct trace *t)
{
	struct cursor cursor = { .cycle = &t->cycle, .last = t->cycle.runs.n };
	struct cuda *c = t->cuda;
	const struct record *r;
	uint64_t at;
	int err = 0;

	while (!err && (r = read_next(&cursor, &at))) {
		uint32_t tid = read_run(&t->cycle, cursor.run)->tid;

		count_nameless(t, r);
		if (r->kind == REC_CALL) {
			err = add_call(c, (const struct rec_call *)r, at, tid, true);
		} else if (r->kind >= REC_KERNEL && r->kind <= REC_SET) {
			err = add_gpu(c, r, at, true);
		} else if (r->kind == REC_STACK) {
			const struct cuda_stack s = { r->begin, at, tid, 0 };

			err = pile_add(&c->stacks, &s, sizeof(s));
		}
	}
	return err;
}

static bool has_hooks(const struct cycle_read *c)
{
	return c->events[REC_CALL] || c->events[REC_KERNEL] || c->events[REC_COPY] ||
	       c->events[REC_SET] || c->events[REC_STACK];
}

/* Has CUPTI kept records of this window? So it is where the process died, or had no time
 * at its end. A program that never met CUDA waits for the GPU, too: its fact tells. */
static bool is_unfetched(const struct trace *t)
{
	static const char recording[] = "\"state\": \"recording\"";
	struct cycle_info *info = (struct cycle_info *)t->info;
	size_t len = 0;
	const char *fact;

	if (atomic_load(&info->cuda_state) != CUDA_PENDING)
		return false;
	fact = facts_get(t->view->head, "cuda", &len);
	return fact && memmem(fact, len, recording, sizeof(recording) - 1);
}

/* Is there a GPU part? Not where nothing was recorded and nothing lost. */
static bool is_there(const struct trace *t)
{
	const struct cuda *c = t->cuda;

	for (unsigned i = 0; i < CUDA_COUNTS; i++)
		if (c->known[i] || atomic_load(&((struct cycle_info *)t->info)->cuda[i]))
			return true;
	return c->calls.n || c->work.n || t->cycle.blocks.n || c->events.n ||
	       c->devices || c->clock.moments.n;
}

/* CUPTI's nanoseconds become ticks. An open window, in which the process died, ends
 * behind its last call. */
static void calls_to_ticks(struct trace *t, bool open)
{
	struct cuda *c = t->cuda;

	for (size_t i = 0; i < c->calls.n; i++) {
		struct cuda_call *call = cuda_call_at(c, i);

		if (call->end && call->end < call->begin)
			c->known[CUDA_REVERSED]++;
		if (!(call->flags & CALL_HOOK)) {
			call->begin = gpu_clock_ticks(&c->clock, call->begin);
			call->end = call->end ? gpu_clock_ticks(&c->clock, call->end) : 0;
		}
		if (!call->end)
			call->end = t->cycle.end;
		if (call->end < call->begin)
			call->end = call->begin;
		if (open && call->end >= t->cycle.end &&
		    call->end < gpu_clock_later(&c->clock, t->cycle.end, CUDA_BEHIND))
			t->cycle.end = call->end + 1;
	}
	for (size_t i = 0; i < c->calls.n; i++) {
		struct cuda_call *call = cuda_call_at(c, i);

		call->begin = read_in_window(&t->cycle, call->begin);
		call->end = read_in_window(&t->cycle, call->end);
	}
}

/* Leaves times outside the window as they are: the window's end may yet move. */
static void blocks_to_ticks(struct trace *t)
{
	struct timed_record *block = t->cycle.blocks.mem;

	for (size_t i = 0; i < t->cycle.blocks.n; i++)
		block[i].ticks = gpu_clock_ticks(&t->cuda->clock, block[i].ticks);
}

/* Calls sort by thread, then by begin; a call around another one comes before it. */
static bool call_before(const void *left, const void *right)
{
	const struct cuda_call *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid;
	if (a->begin != b->begin)
		return a->begin < b->begin;
	return a->end > b->end;
}

int gpu_read(struct trace *t)
{
	bool open = !t->info->end || t->info->end < t->info->begin;
	bool hooks = has_hooks(&t->cycle);
	struct cuda *c = t->cuda = pile_map(sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = index_chunks(t->index, t->info->number, scan_chunk, t);
	if (!err && hooks)
		err = scan_threads(t);
	if (err)
		return err;
	c->known[CUDA_UNFETCHED] = is_unfetched(t);
	if (!is_there(t)) {
		gpu_free(t);
		return 0;
	}
	err = gpu_clock_ready(&c->clock, t->view->head, t->cycle.begin, t->cycle.end);
	calls_to_ticks(t, open);
	blocks_to_ticks(t);
	if (!err)
		err = sort_merge(c->calls.mem, c->calls.n, sizeof(struct cuda_call),
				 call_before);
	return err;
}

void gpu_free(struct trace *t)
{
	struct cuda *c = t->cuda;

	if (!c)
		return;
	pile_free(&c->calls);
	pile_free(&c->work);
	pile_free(&c->events);
	pile_free(&c->stacks);
	pile_free(&c->owners);
	pile_free(&c->annotations);
	pile_free(&c->collectives);
	pile_free(&c->clock.moments);
	pile_unmap(c->by_correlation, c->slots * sizeof(*c->by_correlation));
	demangle_free(c->demangle);
	pile_unmap(c, sizeof(*c));
	t->cuda = NULL;
}
