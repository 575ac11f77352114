/* SPDX-License-Identifier: Apache-2.0 */
/* A window's records: one pass finds threads, steps and counters; cursors then give
 * the records in order. */
#include "writer/read.h"
#include "agent/core/names.h"
#include "agent/core/record_cuda.h"
#include "agent/core/record_function.h"
#include "agent/core/record_gpu.h"
#include "agent/core/record_heap.h"
#include "agent/core/record_module.h"
#include "agent/core/record_python.h"
#include "base/search.h"
#include "writer/sort.h"
#include "writer/writer.h"

#include <errno.h>
#include <string.h>

int (*writer_beat)(void);

/* The smallest size of each kind of record: a smaller one is damaged. */
static const uint16_t least[REC_KINDS] = {
	[REC_NONE] = sizeof(struct record),
	[REC_THREAD] = sizeof(struct rec_thread),
	[REC_OP] = sizeof(struct rec_op),
	[REC_ANNOTATION] = sizeof(struct rec_op),
	[REC_STEP] = sizeof(struct rec_step),
	[REC_MEMORY] = sizeof(struct rec_memory),
	[REC_OOM] = sizeof(struct rec_memory),
	[REC_CALL] = sizeof(struct rec_call),
	[REC_KERNEL] = sizeof(struct rec_kernel),
	[REC_COPY] = sizeof(struct rec_copy),
	[REC_SET] = sizeof(struct rec_set),
	[REC_GRAPH] = sizeof(struct rec_graph),
	[REC_SYNC] = sizeof(struct rec_sync),
	[REC_EVENT] = sizeof(struct rec_event),
	[REC_OVERHEAD] = sizeof(struct rec_overhead),
	[REC_BLOCK] = sizeof(struct rec_block),
	[REC_GPU] = sizeof(struct rec_device),
	[REC_MOMENT] = sizeof(struct rec_moment),
	[REC_COLLECTIVE] = sizeof(struct rec_collective),
	[REC_STACK] = sizeof(struct rec_stack),
	[REC_ALLOC] = sizeof(struct rec_alloc),
	[REC_FREE] = sizeof(struct record),
	[REC_HEAP] = sizeof(struct rec_heap),
	[REC_MODULE] = sizeof(struct rec_module),
	[REC_FUNCTION] = sizeof(struct rec_function),
	[REC_PYTHON] = sizeof(struct rec_python),
	[REC_C_CALL] = sizeof(struct record),
};

/* There is nothing of it in a file. */
static bool is_void(const struct record *r)
{
	return r->kind == REC_NONE || (r->kind == REC_STEP && r->flags & STEP_VOID);
}

const struct record *read_step(const struct spool_view *v, uint64_t *at, uint64_t end)
{
	const struct record *r = (const struct record *)(v->base + *at);
	uint64_t size;

	if (*at > end || end - *at < sizeof(*r))
		return NULL;
	size = (uint64_t)r->units * 8;
	if (r->kind >= REC_KINDS || size < least[r->kind] || size > end - *at)
		return NULL;
	*at += size;
	return r;
}

/* ---- pass one: what is there ---- */

struct scan {
	struct cycle_read *c;
	uint64_t last; /* newest time seen */
	bool open; /* the cycle has no end yet */
	bool follows; /* a parent ended the cycle; nobody here may have seen it */
	int err;
};

/* Keeps the step for the heap part, which tells what was live at the end of each. */
static void note_step(struct scan *s, const struct record *r, int64_t number, bool own)
{
	const struct step step = { number, r->begin, r->end, own };

	if (pile_add(&s->c->steps, &step, sizeof(step)))
		s->err = -ENOMEM;
}

/* Notes the backend of an annotation like "gloo:all_reduce" of torch.distributed. Of
 * several the first in the list counts: a program that trains by NCCL often has gloo
 * beside it. */
static void note_backend(struct cycle_read *c, const struct name *n)
{
	static const char *const backends[] = { "nccl", "xccl", "ucc", "mpi", "gloo" };

	for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++) {
		size_t len = strlen(backends[i]);

		if (c->backend == backends[i])
			return;
		if (n && n->len > len + 1 && name_starts_with(n, backends[i]) &&
		    n->text[len] == ':' && n->text[len + 1] != ' ') {
			c->backend = backends[i];
			return;
		}
	}
}

/* Notes an annotation "ProfilerStep#N": a step of the program's own torch.profiler. */
static void note_own_step(struct scan *s, const struct record *r, const struct name *n)
{
	static const char prefix[] = "ProfilerStep#";
	const struct span span = { r->begin, r->end ? r->end : UINT64_MAX };
	int64_t number = 0;

	if (!n || n->len < sizeof(prefix) || memcmp(n->text, prefix, sizeof(prefix) - 1))
		return;
	if (pile_add(&s->c->own_steps, &span, sizeof(span)))
		s->err = -ENOMEM;
	for (unsigned i = sizeof(prefix) - 1; i < n->len && number < INT64_MAX / 16; i++)
		if (n->text[i] >= '0' && n->text[i] <= '9')
			number = number * 10 + n->text[i] - '0';
	note_step(s, r, number, true);
}

static void note_annotation(struct scan *s, const struct record *r)
{
	const struct name *n = names_get(s->c->view, r->name);

	note_backend(s->c, n);
	note_own_step(s, r, n);
}

/* Counts devices with tensor memory: the plugin looks each one up in "deviceProperties",
 * and refuses a file whose list is shorter. */
static void note_memory(struct cycle_read *c, const struct rec_memory *m)
{
	if (m->device_type == 1 && m->device_index >= 0 &&
	    (uint32_t)m->device_index >= c->gpus)
		c->gpus = (uint32_t)m->device_index + 1;
}

/* In the heap's records `end` is no time: it is an address, or a number of bytes. */
static bool has_end(const struct record *r)
{
	return !record_is_heap(r->kind) && r->kind != REC_HEAP;
}

static void note_record(struct scan *s, const struct record *r, uint64_t at)
{
	if (r->begin > s->last)
		s->last = r->begin;
	if (has_end(r) && r->end > s->last)
		s->last = r->end;
	/* REC_HEAP counters taken as the window closed belong to it. */
	if (!s->open && r->begin >= s->c->end && r->kind != REC_HEAP) {
		/* A function that was called a moment later is no loss. */
		s->c->late[r->kind] += !s->follows && r->kind != REC_FUNCTION;
		return;
	}
	/* A block that was moved while the window opened does not belong to it. */
	if (record_is_heap(r->kind) && r->begin < s->c->begin)
		return;
	s->c->events[r->kind]++;
	if (r->kind == REC_OP)
		s->c->backward += ((const struct rec_op *)r)->fwd_thread != 0;
	else if (r->kind == REC_ANNOTATION)
		note_annotation(s, r);
	else if (r->kind == REC_STEP)
		note_step(s, r, ((const struct rec_step *)r)->number, false);
	else if (r->kind == REC_MEMORY)
		note_memory(s->c, (const struct rec_memory *)r);
	else if (r->kind == REC_PYTHON)
		s->c->pauses[r->flags & PAUSE_KIND]++;
	else if (r->kind == REC_HEAP && pile_add(&s->c->counters, &at, sizeof(at)))
		s->err = -ENOMEM;
}

/* A REC_THREAD record names the thread that the records after it belong to. */
static struct run *note_thread(struct scan *s, const struct rec_thread *t, uint64_t said,
			       uint64_t at)
{
	struct run *run = pile_push(&s->c->runs, sizeof(*run));

	if (!run) {
		s->err = -ENOMEM;
		return NULL;
	}
	*run = (struct run){
		.at = at,
		.end = at,
		.begin = t->r.begin,
		.said = said,
		.tid = t->tid,
		.ordinal = t->ordinal,
	};
	return run;
}

bool read_chunk(const struct spool_view *v, uint64_t offset, enum chunk_kind kind,
		uint64_t *at, uint64_t *end)
{
	struct chunk *c = (struct chunk *)(v->base + offset);
	uint32_t used = atomic_load_explicit(&c->used, memory_order_acquire);

	/* A live process, or a hostile one, may have changed the chunk since it was
	 * found. */
	if (atomic_load_explicit(&c->kind, memory_order_relaxed) != kind ||
	    used > c->size || offset + used > v->size || used < sizeof(*c))
		return false;
	*at = offset + sizeof(*c);
	*end = offset + used;
	return true;
}

/* Any thread may record GPU work, long after it was done; and what a thread is in when
 * the window begins is recorded at its first event. */
static bool tells_older(const struct record *r)
{
	return r->kind == REC_KERNEL ||
	       ((r->kind == REC_MODULE || r->kind == REC_FUNCTION) &&
		r->flags & FUNCTION_ENTERED);
}

static int scan_chunk(uint64_t offset, void *arg)
{
	struct scan *s = arg;
	uint64_t at, end, here;
	const struct record *r;
	struct run *run = NULL;

	if (writer_beat && writer_beat())
		return -ECANCELED;
	if (!read_chunk(s->c->view, offset, CHUNK_DATA, &at, &end))
		return 0;
	while (here = at, !s->err && at < end && (r = read_step(s->c->view, &at, end))) {
		if (r->kind == REC_THREAD) {
			if (run && run->at == run->end)
				s->c->runs.n--; /* said nothing */
			run = note_thread(s, (const struct rec_thread *)r, here, at);
		} else if (run && !is_void(r)) {
			if (run->at == run->end && !tells_older(r))
				run->begin = r->begin;
			/* REC_HEAP belongs to the process, and gives a thread no row. */
			if (r->kind != REC_HEAP)
				run->end = at;
			note_record(s, r, here);
		}
	}
	if (run && run->at == run->end)
		s->c->runs.n--;
	return s->err;
}

/* ---- order ---- */

static bool run_before(const void *left, const void *right)
{
	const struct run *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid;
	if (a->begin != b->begin)
		return a->begin < b->begin;
	return a->at < b->at;
}

/* A thread learns its ordinal late: runs that it wrote before get it, too. */
static void spread_ordinals(struct run *runs, size_t n)
{
	for (size_t i = n; i-- > 1;)
		if (!runs[i - 1].ordinal && runs[i - 1].tid == runs[i].tid)
			runs[i - 1].ordinal = runs[i].ordinal;
}

static bool span_before(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return a->begin < b->begin;
}

/* Sorts spans by begin and merges those that overlap: a search then looks at one only. */
static int sort_spans(struct pile *spans)
{
	struct span *span = spans->mem;
	size_t n = 0;
	int err = sort_merge(span, spans->n, sizeof(*span), span_before);

	for (size_t i = 0; i < spans->n; i++) {
		if (n && span[i].begin < span[n - 1].end) {
			if (span[i].end > span[n - 1].end)
				span[n - 1].end = span[i].end;
		} else {
			span[n++] = span[i];
		}
	}
	spans->n = n;
	return err;
}

bool read_own_step(const struct cycle_read *c, uint64_t begin, uint64_t end)
{
	const struct span *span = c->own_steps.mem;
	size_t at = SEARCH_FIRST(i, 0, c->own_steps.n, span[i].end > begin);

	return at < c->own_steps.n && span[at].begin < end;
}

/* ---- for all ---- */

/* The end of a window in which the process died: the record begun last lies in it. */
static uint64_t window_end(const struct scan *s, const struct spool_header *h)
{
	uint64_t exit = atomic_load(&((struct spool_header *)h)->exit_ticks);
	uint64_t last = s->last < UINT64_MAX ? s->last + 1 : s->last;

	return exit > last ? exit : last;
}

int read_cycle(struct cycle_read *c, const struct spool_view *v,
	       const struct read_index *ix, const struct cycle_info *info)
{
	struct scan s = { .c = c, .last = info->begin };

	*c = (struct cycle_read){ .view = v, .begin = info->begin, .end = info->end };
	s.open = !c->end || c->end < c->begin;
	s.follows = info->flags & CYCLE_CHILD;
	s.err = index_chunks(ix, info->number, scan_chunk, &s);
	if (s.open)
		c->end = window_end(&s, v->head);
	if (!s.err)
		s.err = sort_merge(c->runs.mem, c->runs.n, sizeof(struct run),
				   run_before);
	spread_ordinals(c->runs.mem, c->runs.n);
	return s.err ? s.err : sort_spans(&c->own_steps);
}

void read_free(struct cycle_read *c)
{
	pile_free(&c->runs);
	pile_free(&c->own_steps);
	pile_free(&c->steps);
	pile_free(&c->counters);
	pile_free(&c->blocks);
}

size_t read_thread(const struct cycle_read *c, size_t first)
{
	uint32_t tid = read_run(c, first)->tid;

	while (first < c->runs.n && read_run(c, first)->tid == tid)
		first++;
	return first;
}

const struct record *read_next(struct cursor *c, uint64_t *offset)
{
	while (c->run < c->last) {
		const struct run *run = read_run(c->cycle, c->run);
		const struct record *r;

		if (!c->at)
			c->at = run->at;
		*offset = c->at;
		r = c->at < run->end ? read_step(c->cycle->view, &c->at, run->end) : NULL;
		if (!r) {
			c->run++;
			c->at = 0;
		} else if (!is_void(r) && r->kind != REC_THREAD && r->kind != REC_HEAP &&
			   (c->heap || !record_is_heap(r->kind)) &&
			   (r->begin < c->cycle->end || r->begin <= c->cycle->begin)) {
			return r;
		}
	}
	return NULL;
}

uint64_t read_end(const struct cycle_read *c, const struct record *r)
{
	uint64_t end = read_is_open(c, r) ? c->end : r->end;

	return end > r->begin ? end : r->begin;
}
