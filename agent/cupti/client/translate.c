/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a record what differs for a client lies: times of another clock, thread ids of
 * another kind. */
#include "agent/cupti/client/translate.h"
#include "agent/cupti/client/copies.h"
#include "agent/cupti/lib/layout.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- where things lie; offsets never move (layout.h) ---- */

static const struct shape shapes[] = {
	{ 1, .correlation = 44, .gpu = true, .time = { 16, 24 } }, /* MEMCPY */
	{ 2, .correlation = 44, .gpu = true, .time = { 16, 24 } }, /* MEMSET */
	{ 3, .correlation = 92, .gpu = true, .time = { 16, 24, 32, 120, 128 } },
	{ 4, .correlation = 32, .thread = 28, .time = { 8, 16 } }, /* DRIVER */
	{ 5, .correlation = 32, .thread = 28, .time = { 8, 16 } }, /* RUNTIME */
	{ 10, .correlation = 92, .gpu = true, .time = { 16, 24, 32, 120, 128 } },
	{ 11, .object = 4 }, /* NAME */
	{ 12, .object = 20, .time = { 8 } }, /* MARKER */
	{ 17, .object = 8, .time = { 24, 32 } }, /* OVERHEAD */
	{ 18, .correlation = 76, .gpu = true, .time = { 8, 16, 96, 104, 112 } },
	{ 20, .time = { 8 } }, /* ENVIRONMENT */
	{ 22, .correlation = 60, .gpu = true, .time = { 16, 24 } }, /* MEMCPY2 */
	{ 25, .time = { 16, 24 } }, /* UNIFIED_MEMORY_COUNTER */
	{ 36, .correlation = 4, .gpu = true, .time = { 0, 40 } }, /* CUDA_EVENT */
	{ 37, .correlation = 20 }, /* STREAM */
	{ 38, .correlation = 24, .time = { 8, 16 } }, /* SYNCHRONIZATION */
	{ 45, .time = { 24, 32 } }, /* MEMORY */
	{ 48, .correlation = 32, .thread = 28, .time = { 8, 16 } },
	{ 49, .correlation = 12, .time = { 32 } }, /* MEMORY2 */
	{ 50, .correlation = 12, .time = { 56 } }, /* MEMORY_POOL */
	{ 51, .correlation = 4, .gpu = true, .time = { 8, 16 } }, /* GRAPH_TRACE */
	{ 52, .correlation = 32, .thread = 68, .time = { 16, 24 } }, /* JIT */
	{ 53, .gpu = true, .time = { 8, 16 } }, /* DEVICE_GRAPH_TRACE */
	{ 54, .correlation = 24, .gpu = true, .time = { 48, 56 } },
	{ 55, .time = { 24 } }, /* CONFIDENTIAL_COMPUTE_ROTATION */
	{ 56, .correlation = 16, .thread = 36, .time = { 40, 48 } },
	{ 57, .time = { 8 } }, /* COMPUTE_ENGINE_CTX_SWITCH */
	{ 58, .correlation = 16, .thread = 24, .time = { 32, 40 } },
};
#define OBJECT_THREAD 2 /* the kind of object; then process id, thread id */

const struct shape *translate_of(uint32_t kind)
{
	static _Atomic(const struct shape *) known[KIND_MOST];
	const struct shape *s;

	if (kind >= KIND_MOST)
		return NULL;
	s = atomic_load_explicit(&known[kind], memory_order_relaxed);
	for (unsigned i = 0; !s && i < sizeof(shapes) / sizeof(*shapes); i++)
		if (shapes[i].kind == kind)
			s = &shapes[i];
	atomic_store_explicit(&known[kind], s, memory_order_relaxed);
	return s;
}

/* ---- the client's clock ---- */

/*
 * The client's clock would be CUPTI's, for our records, too: so CUPTI keeps its own, and
 * the client's copies are translated along lines between moments at which both were
 * read. The newest moment moves on until the one before it is old enough.
 */
#define TRIES 8
#define APART 20000000u /* ns */

static struct {
	uint64_t (*_Atomic read)(void);
	struct translate_clocks now;
	_Atomic uint32_t lock;
} clocks;

/* A spin that yields: what is done under it is a few stores, by any thread. */
static void lock_clocks(void)
{
	while (atomic_exchange(&clocks.lock, 1))
		syscall(SYS_sched_yield);
}

static void unlock_clocks(void)
{
	atomic_store(&clocks.lock, 0);
}

/* The best of a few readings: CUPTI's clock, read between two looks at the client's. */
static bool read_moment(uint64_t (*read)(void), struct shape_moment *m)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t from = read(), ns = 0, to;

		if (!cupti.GetTimestamp || cupti.GetTimestamp(&ns))
			return false;
		to = read();
		if (to - from >= best)
			continue;
		best = to - from;
		*m = (struct shape_moment){ ns, from + (to - from) / 2 };
	}
	return true;
}

/* Two moments close together would make a steep line of a small error of reading: the
 * newest is replaced until it is APART from the one before. */
static void add_moment(struct translate_clocks *c, const struct shape_moment *m)
{
	if (c->n >= 2 && m->ns - c->at[c->n - 2].ns < APART) {
		c->at[c->n - 1] = *m;
		return;
	}
	if (c->n == SHAPE_MOMENTS)
		memmove(c->at, c->at + 1, --c->n * sizeof(*c->at));
	c->at[c->n++] = *m;
}

void translate_sample(void)
{
	uint64_t (*read)(void) = atomic_load(&clocks.read);
	struct shape_moment m;

	if (!read || !read_moment(read, &m))
		return;
	lock_clocks();
	add_moment(&clocks.now, &m);
	unlock_clocks();
}

void translate_clock(uint64_t (*clock)(void))
{
	lock_clocks();
	if (atomic_load(&clocks.read) != clock)
		clocks.now.n = 0;
	atomic_store(&clocks.read, clock);
	unlock_clocks();
	translate_sample();
}

bool translate_clocks(struct translate_clocks *c)
{
	c->n = 0;
	if (!atomic_load(&clocks.read))
		return false;
	lock_clocks();
	*c = clocks.now;
	unlock_clocks();
	return true;
}

/* Before the first moment and behind the last one the nearest line goes on. */
static uint64_t their_time(const struct translate_clocks *c, uint64_t ns)
{
	const struct shape_moment *a, *b;
	unsigned i = c->n - 1;
	double span;

	if (c->n < 2)
		return c->n ? c->at[0].theirs : 0;
	while (i > 1 && ns < c->at[i - 1].ns)
		i--;
	a = &c->at[i - 1];
	b = &c->at[i];
	span = (double)(int64_t)(b->ns - a->ns);
	if (span <= 0)
		return a->theirs;
	return a->theirs +
	       (uint64_t)(int64_t)((double)(int64_t)(ns - a->ns) *
				   (double)(int64_t)(b->theirs - a->theirs) / span);
}

static void put_field(uint8_t *at, uint64_t value, unsigned width)
{
	memcpy(at, &value, width);
}

static void translate_times(const struct translate_clocks *c, uint8_t *record,
			    size_t size, const struct shape *s)
{
	for (unsigned i = 0; i < sizeof(s->time); i++) {
		uint64_t ns = s->time[i] && s->time[i] + 8u <= size
				      ? layout_read(record + s->time[i], 8)
				      : 0;

		if (ns)
			put_field(record + s->time[i], their_time(c, ns), 8);
	}
}

/* ---- thread ids ---- */

/*
 * By default CUPTI names threads by the low half of pthread_self(), we have it use the
 * system's ids. The kernel knows where each thread's list of robust mutexes lies, and
 * that is inside what pthread_self() points to, always at the same place.
 */
static uint64_t robust_list(uint32_t tid)
{
	uint64_t head = 0;
	size_t size;

	return syscall(SYS_get_robust_list, (int)tid, &head, &size) ? 0 : head;
}

static uint32_t pthread_of(uint32_t tid)
{
	static _Atomic uint64_t known[64]; /* tid << 32 | answer */
	_Atomic uint64_t *slot = &known[tid % 64];
	uint64_t cached = atomic_load(slot), list, mine;

	if (cached >> 32 == tid)
		return (uint32_t)cached;
	list = robust_list(tid);
	mine = robust_list(0);
	if (!list || !mine)
		return tid; /* it has ended: its own number is better than none */
	list -= mine - (uint64_t)pthread_self();
	atomic_store(slot, (uint64_t)tid << 32 | (uint32_t)list);
	return (uint32_t)list;
}

static void translate_thread(uint8_t *record, size_t size, const struct shape *s)
{
	unsigned at = s->thread;

	if (s->object && s->object + 12u <= size &&
	    layout_read(record + s->object, 4) == OBJECT_THREAD)
		at = s->object + 8u; /* behind the process's id */
	if (at && at + 4u <= size && layout_read(record + at, 4))
		put_field(record + at, pthread_of((uint32_t)layout_read(record + at, 4)),
			  4);
}

void translate_record(uint8_t *record, size_t size, const struct translate_clocks *c,
		      bool pthreads)
{
	const struct shape *s = translate_of((uint32_t)layout_read(record, 4));

	if (s && c->n)
		translate_times(c, record, size, s);
	if (s && pthreads)
		translate_thread(record, size, s);
}

void translate_forget(void)
{
	memset((void *)&clocks, 0, sizeof(clocks));
}
