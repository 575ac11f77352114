/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU times without CUPTI: of one launch in a hundred the stream is asked, by an event
 * before and an event after it. The events are the driver's: its calls leave no "last
 * error" behind. Whether events have come is looked at in later launches and after waits
 * of the program's own; nothing here ever waits.
 *
 * Where an event lies in time: it cannot have come before it was asked for. So of all
 * events of a context the one that came soonest after that ties the two clocks together.
 */
#include "agent/core/emit.h"
#include "agent/core/names.h"
#include "agent/core/record_gpu.h"
#include "agent/cuda/libraries.h"
#include "base/seldom.h"

#include <stdatomic.h>
#include <string.h>

#define EVERY        100u /* launches of a stream, of which one is measured */
#define STREAMS      256u /* further ones are not measured */
#define CONTEXTS     8u
#define PAIRS        64u /* of a context, under way at once */
#define MARK_SECONDS 10 /* a float of ms then still tells a microsecond */
#define RELAXED      2 /* CU_STREAM_CAPTURE_MODE_RELAXED */

/* A pair of events: nobody's, of a launch that is being made, asked for. */
enum { FREE, BUSY, PENDING };

struct estimate_pair {
	_Atomic uint32_t state;
	struct context *context;
	void *begin, *end;
	uint64_t host; /* ticks, when the first was asked for */
	uint64_t called; /* ticks, when the launch itself was */
	uint64_t cycle, stream;
	uint32_t correlation, name;
	uint32_t grid[3], block[3], shared;
};

struct context {
	_Atomic(void *) handle;
	_Atomic uint32_t lock; /* only ever tried */
	int device;
	void *mark; /* an event that others are measured from */
	bool marked;
	uint64_t marked_at; /* ticks */
	int64_t mark_ticks; /* the latest proved time of `mark` (finish_pair) */
	struct estimate_pair pair[PAIRS];
};

/* Asked of the driver when they are first needed. */
#define DRIVER(DO)                                            \
	DO(cuCtxGetCurrent, (void **context))                 \
	DO(cuCtxGetDevice, (int *device))                     \
	DO(cuEventCreate, (void **event, unsigned flags))     \
	DO(cuEventRecord, (void *event, void *stream))        \
	DO(cuEventQuery, (void *event))                       \
	DO(cuEventElapsedTime, (float *ms, void *a, void *b)) \
	DO(cuStreamIsCapturing, (void *stream, int *status))  \
	DO(cuThreadExchangeStreamCaptureMode, (int *mode))

static struct {
#define MEMBER(name, params) int(*name) params;
	DRIVER(MEMBER)
#undef MEMBER
} driver;

static SELDOM struct context contexts[CONTEXTS];
static SELDOM struct {
	_Atomic uint64_t stream;
	_Atomic uint32_t launches;
} streams[STREAMS];
static _Atomic bool off;

void event_times_off(void)
{
	atomic_store(&off, true);
}

void event_times_fork_child(void)
{
	event_times_off(); /* CUDA does not work in a forked child */
}

static bool driver_known(void)
{
	static _Atomic uint32_t state; /* 1: a thread looks, 2: known, 3: not all */
	uint32_t fresh = 0;
	bool all = true;

	if (atomic_load(&state) == 2)
		return true;
	if (!atomic_compare_exchange_strong(&state, &fresh, 1))
		return false;
#define FIND(name, params)                                   \
	{                                                    \
		void *fn = cuda_locate(GROUP_DRIVER, #name); \
		memcpy(&driver.name, &fn, sizeof(fn));       \
		all = all && fn;                             \
	}
	DRIVER(FIND)
#undef FIND
	atomic_store(&state, all ? 2 : 3);
	if (!all)
		event_times_off();
	return all;
}

/* ---- which launches ---- */

static uint64_t stream_of(const struct cuda_frame *f)
{
	const char *config = (const char *)f->reg[0];
	uint64_t stream = 0;

	if (f->fn->kind != KIND_LAUNCH_CONFIG)
		return cuda_arg(f, f->fn->arg[1]);
	if (config)
		memcpy(&stream, config + 32, sizeof(stream)); /* alike in both structs */
	return stream;
}

/* Each hundredth of a stream. A stream's place is found by its handle (an address) times
 * 2^64 over the golden ratio, and is never given up. */
static bool is_sampled(uint64_t stream)
{
	uint64_t hash = stream * 0x9e3779b97f4a7c15ull >> 40;

	for (uint32_t i = 0; i < STREAMS; i++) {
		typeof(streams[0]) *at = &streams[(uint32_t)(hash + i) % STREAMS];
		uint64_t none = 0;
		uint64_t own = atomic_load_explicit(&at->stream, memory_order_relaxed);

		if (own != stream && (own || (!atomic_compare_exchange_strong(
						      &at->stream, &none, stream) &&
					      none != stream)))
			continue;
		return atomic_fetch_add_explicit(&at->launches, 1, memory_order_relaxed) %
			       EVERY ==
		       0;
	}
	return false;
}

static struct context *context_now(void)
{
	void *handle = NULL;

	if (driver.cuCtxGetCurrent(&handle) || !handle)
		return NULL;
	for (unsigned i = 0; i < CONTEXTS; i++) {
		void *none = NULL;

		if (atomic_load(&contexts[i].handle) == handle)
			return &contexts[i];
		if (!atomic_load(&contexts[i].handle) &&
		    atomic_compare_exchange_strong(&contexts[i].handle, &none, handle)) {
			driver.cuCtxGetDevice(&contexts[i].device);
			return &contexts[i];
		}
	}
	return NULL;
}

/* The caller's own context, locked; NULL: another thread has it, or there is none. */
static struct context *lock_context(void)
{
	struct context *c = context_now();

	return c && !atomic_exchange(&c->lock, 1) ? c : NULL;
}

static void unlock_context(struct context *c)
{
	atomic_store_explicit(&c->lock, 0, memory_order_release);
}

/* ---- what came ---- */

static void emit_kernel(const struct estimate_pair *p, uint64_t begin, uint64_t end)
{
	struct thread *t = emit_enter(REC_KERNEL);
	struct rec_kernel *k;

	if (!t)
		return;
	if (atomic_load_explicit(&t->emitting, memory_order_relaxed) == p->cycle &&
	    (k = emit_reserve(t, REC_KERNEL, sizeof(*k)))) {
		*k = (struct rec_kernel){
			.g.r = { .name = p->name, .begin = begin, .end = end },
			.g.correlation = p->correlation,
			.g.context = (uint32_t)(p->context - contexts) + 1,
			.g.stream = (uint32_t)p->stream,
			.g.device = (uint8_t)p->context->device,
			.dynamic_shared = p->shared,
		};
		for (int i = 0; i < 3; i++) {
			k->grid[i] = p->grid[i];
			k->block[i] = (uint16_t)p->block[i];
		}
		emit_commit(t, &k->g.r, REC_KERNEL, GPU_ESTIMATE, sizeof(*k));
	}
	emit_leave(t);
}

/* False: its events have not come. The first one came at `host` or later, so the mark at
 * `host` less `after` or later: the latest of these bounds ties the two clocks. */
static bool finish_pair(struct context *c, struct estimate_pair *p, double per_ms)
{
	float after = 0, took = 0;
	int64_t begin, end, now;

	if (driver.cuEventQuery(p->end))
		return false;
	if (!driver.cuEventElapsedTime(&after, c->mark, p->begin) &&
	    !driver.cuEventElapsedTime(&took, p->begin, p->end)) {
		begin = (int64_t)(after * per_ms);
		if ((int64_t)p->host - begin > c->mark_ticks)
			c->mark_ticks = (int64_t)p->host - begin;
		begin += c->mark_ticks;
		end = begin + (int64_t)(took * per_ms);
		now = (int64_t)clock_ticks();
		if (end > now) {
			begin -= end - now;
			end = now;
		}
		/* The first event may come at once, before the launch was called. */
		begin = begin > (int64_t)p->called ? begin : (int64_t)p->called;
		end = end > begin ? end : begin;
		emit_kernel(p, (uint64_t)begin, (uint64_t)end);
	}
	atomic_store(&p->state, FREE);
	return true;
}

/* Finishes pairs of a locked context. Returns how many are still out. */
static unsigned collect_pairs(struct context *c)
{
	double per_ms = clock_rate(spool.head) / 1000;
	unsigned out = 0;

	for (unsigned i = 0; i < PAIRS; i++) {
		uint32_t state = atomic_load(&c->pair[i].state);

		if (state == BUSY ||
		    (state == PENDING && !finish_pair(c, &c->pair[i], per_ms)))
			out++;
	}
	return out;
}

/* ---- one launch ---- */

static bool is_captured(void *stream)
{
	int status = 0;

	if (!driver.cuStreamIsCapturing(stream, &status) && !status)
		return false;
	event_times_off();
	return true;
}

/* Records the mark anew when no pair is out; an elapsed time is a float, so the mark must
 * not be older than MARK_SECONDS. */
static bool mark_context(struct context *c, void *stream)
{
	uint64_t now = clock_ticks();

	if (c->marked && collect_pairs(c) > 0)
		return (double)(now - c->marked_at) <
		       MARK_SECONDS * clock_rate(spool.head);
	if ((!c->mark && driver.cuEventCreate(&c->mark, 0)) ||
	    driver.cuEventRecord(c->mark, stream))
		return false;
	c->marked_at = now;
	c->mark_ticks = (int64_t)now;
	c->marked = true;
	return true;
}

static struct estimate_pair *take_pair(struct context *c, void *stream)
{
	struct estimate_pair *p = NULL;

	if (!mark_context(c, stream))
		return NULL;
	for (unsigned i = 0; !p && i < PAIRS; i++)
		if (atomic_load(&c->pair[i].state) == FREE)
			p = &c->pair[i];
	if (!p)
		return NULL;
	p->context = c;
	if ((!p->begin && driver.cuEventCreate(&p->begin, 0)) ||
	    (!p->end && driver.cuEventCreate(&p->end, 0)))
		return NULL;
	p->host = p->called = clock_ticks();
	if (driver.cuEventRecord(p->begin, stream))
		return NULL;
	atomic_store(&p->state, BUSY);
	return p;
}

/* The grid: dim3 by value, two to a word, or as numbers; alike in both structures. */
static void read_shape(const struct cuda_frame *f, struct estimate_pair *p)
{
	const char *config = (const char *)f->reg[0];

	for (int i = 0; i < 3; i++) {
		if (f->fn->kind == KIND_LAUNCH_DRIVER) {
			p->grid[i] = (uint32_t)cuda_arg(f, 1 + i);
			p->block[i] = (uint32_t)cuda_arg(f, 4 + i);
		} else if (f->fn->kind == KIND_LAUNCH) {
			p->grid[i] = (uint32_t)(f->reg[1 + i / 2] >> 32 * (i % 2));
			p->block[i] = (uint32_t)(f->reg[3 + i / 2] >> 32 * (i % 2));
		} else {
			memcpy(&p->grid[i], config + 4 * i, 4);
			memcpy(&p->block[i], config + 12 + 4 * i, 4);
		}
	}
	if (f->fn->kind == KIND_LAUNCH_CONFIG)
		memcpy(&p->shared, config + 24, 4);
	else
		p->shared = (uint32_t)cuda_arg(f, f->fn->arg[1] - 1);
}

static void fill_pair(const struct cuda_frame *f, struct estimate_pair *p,
		      uint64_t stream)
{
	const char *name = kernel_names_of(f) ?: "kernel";

	p->cycle = gate_cycle();
	p->stream = stream;
	p->correlation = f->correlation;
	p->name = names_add(name, strlen(name), NULL, 0);
	read_shape(f, p);
}

void event_times_before(struct cuda_frame *f)
{
	uint64_t stream = stream_of(f);
	struct context *c;
	int mode = RELAXED;

	/* Stream 0 is the legacy stream; 1 and 2 are other names of it and of the
	 * thread's. */
	if (atomic_load_explicit(&off, memory_order_relaxed) || stream <= 2 ||
	    !is_sampled(stream) || !driver_known())
		return;
	c = lock_context();
	if (!c)
		return;
	/* Another thread's capture in global mode must not be spoilt by our calls. */
	if (!driver.cuThreadExchangeStreamCaptureMode(&mode)) {
		if (!is_captured((void *)stream))
			f->pair = take_pair(c, (void *)stream);
		driver.cuThreadExchangeStreamCaptureMode(&mode);
	}
	unlock_context(c);
	if (f->pair)
		fill_pair(f, f->pair, stream);
}

void event_times_called(struct cuda_frame *f, uint64_t ticks)
{
	f->pair->called = ticks;
}

void event_times_after(struct cuda_frame *f)
{
	struct estimate_pair *p = f->pair;
	int mode = RELAXED;
	bool asked = false;

	if (!(int)f->result[0] && !atomic_load(&off) &&
	    !driver.cuThreadExchangeStreamCaptureMode(&mode)) {
		asked = !driver.cuEventRecord(p->end, (void *)p->stream);
		driver.cuThreadExchangeStreamCaptureMode(&mode);
	}
	atomic_store(&p->state, asked ? PENDING : FREE);
}

void event_times_poll(void)
{
	struct context *c;
	int mode = RELAXED;

	if (atomic_load_explicit(&off, memory_order_relaxed) || !gate_cycle() ||
	    !atomic_load(&contexts[0].handle))
		return;
	c = lock_context();
	if (!c)
		return;
	if (c->marked && !driver.cuThreadExchangeStreamCaptureMode(&mode)) {
		collect_pairs(c);
		driver.cuThreadExchangeStreamCaptureMode(&mode);
	}
	unlock_context(c);
}
