/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of threads. They are never freed: a thread that ends leaves its state, and what
 * is left of its chunk, to one that begins later.
 */
#include "agent/core/thread.h"
#include "agent/core/clock.h"
#include "agent/core/emit.h"
#include "agent/core/rare.h"
#include "base/arena.h"
#include "base/sys.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct thread *thread_mine __attribute__((tls_model("initial-exec")));
static __thread bool thread_dead __attribute__((tls_model("initial-exec")));
#define FIRST_DUE 9 /* events until one is timed: a thread's first ones are cold */

void (*thread_wants)(void);
static struct thread last = { .live = 1,
			      .due = FIRST_DUE }; /* of threads after their end */
static struct thread *_Atomic registry = &last;
static _Atomic uint64_t leftover; /* top of the stack of dead threads' chunks, tagged */
static pthread_key_t at_end;

#define TAG_SHIFT      40 /* offsets below 1 TiB, a change count above */
#define OFFSETS        ((1ull << TAG_SHIFT) - 1)
#define LEFTOVER_LEAST 256 /* bytes that make a chunk worth handing on */
#define LAST_SPINS     100 /* for the state of threads that are over ... */
#define LAST_YIELDS    1000 /* ... then the processor is given away ... */
#define LAST_NAPS      300 /* ... and in the end they sleep, for a holder without one */
#define LAST_NAP_NS    100000
#define LEAVE_NAP_NS   20000

/* ---- what dead threads left ---- */

/* Tagged as chunk.c's lists are: the tag counts changes. */
static uint64_t tag_list_top(uint64_t at, uint64_t top)
{
	return at | ((top >> TAG_SHIFT) + 1) << TAG_SHIFT;
}

static void leave_chunk(struct chunk *c)
{
	uint64_t at = (uint64_t)((uint8_t *)c - spool.base);
	uint64_t top = atomic_load(&leftover);

	do
		atomic_store(&c->next_left, top & OFFSETS);
	while (!atomic_compare_exchange_weak(&leftover, &top, tag_list_top(at, top)));
}

void thread_leave_nothing(void)
{
	uint64_t top = atomic_load(&leftover);

	while (!atomic_compare_exchange_weak(&leftover, &top, tag_list_top(0, top)))
		;
}

/* A chunk of `cycle` with `size` bytes left. What belongs to older cycles is let
 * go: the writer gives those chunks back itself, after thread_leave_nothing. */
static struct chunk *inherit_chunk(uint64_t cycle, uint32_t size)
{
	uint64_t top = atomic_load(&leftover);

	for (;;) {
		uint64_t at = top & OFFSETS;
		struct chunk *c;

		if (!at)
			return NULL;
		c = chunk_at(at);
		if (!atomic_compare_exchange_weak(
			    &leftover, &top,
			    tag_list_top(atomic_load(&c->next_left) & OFFSETS, top)))
			continue;
		if (c->cycle == cycle && atomic_load(&c->kind) == CHUNK_DATA &&
		    !atomic_load(&c->taken) && c->size - atomic_load(&c->used) >= size)
			return c;
		top = atomic_load(&leftover);
	}
}

/* ---- life of a thread ---- */

static void thread_end(void *arg)
{
	struct thread *t = arg;

	/* As in emit_enter: once the cycle is sealed its chunks are the writer's. */
	atomic_store_explicit(&t->emitting, t->cycle, memory_order_relaxed);
	emit_barrier();
	if (t->chunk && t->cycle == gate_cycle() && t->end - t->at >= LEFTOVER_LEAST)
		leave_chunk(t->chunk);
	emit_leave(t);
	thread_dead = true;
	thread_mine = NULL;
	t->chunk = NULL;
	t->at = t->limit = t->end = NULL;
	t->cycle = 0;
	atomic_store_explicit(&t->live, 0, memory_order_release);
}

int thread_start(void)
{
	static bool made;

	if (made)
		return 0;
	if (pthread_key_create(&at_end, thread_end))
		return -EAGAIN;
	made = true;
	return 0;
}

static struct thread *reuse_state(void)
{
	for (struct thread *t = atomic_load(&registry); t; t = t->next) {
		uint32_t dead = 0;

		if (atomic_load_explicit(&t->live, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_strong(&t->live, &dead, 1))
			return t;
	}
	return NULL;
}

static struct thread *make_state(void)
{
	/* A state begins at a pair of cache lines: processors fetch them so, and a
	 * neighbour's writes would slow this thread's. */
	struct thread *t = arena_alloc(sizeof(*t) + 128);
	struct thread *first;

	if (!t)
		return NULL;
	t = (struct thread *)(((uintptr_t)t + 127) & ~(uintptr_t)127);
	atomic_store(&t->live, 1);
	first = atomic_load(&registry);
	do
		t->next = first;
	while (!atomic_compare_exchange_weak(&registry, &first, t));
	return t;
}

struct thread *thread_state(void)
{
	uintptr_t guard;
	int saved = errno;
	struct thread *t;

	if (thread_dead)
		return NULL;
	guard = guard_enter(); /* a key's first value may be allocated */
	t = reuse_state();
	if (!t)
		t = make_state();
	if (t) {
		t->tid = sys_tid();
		atomic_store(&t->live, t->tid);
		t->ordinal = t->said_ordinal = 0;
		t->cycle = t->chunks = 0;
		t->due = FIRST_DUE;
		thread_mine = t;
		pthread_setspecific(at_end, t);
	}
	guard_leave(guard);
	errno = saved;
	return t;
}

struct thread *thread_new(void)
{
	return spool.head ? thread_state() : NULL;
}

static bool hold_last(uint64_t cycle)
{
	uint64_t free = 0;

	return atomic_compare_exchange_strong(&last.emitting, &free, cycle);
}

/* `emitting` is the lock: emit_leave opens it, and the writer sees it as any other. Its
 * holder may be this very thread, interrupted, and then it never opens; or one that has
 * lost its processor. A thread that waited in vain sets in_vain: a holder that is gone
 * for good costs one long wait. */
static bool take_last(uint64_t cycle, uint32_t tid)
{
	static _Atomic bool in_vain;
	unsigned most = LAST_SPINS + LAST_YIELDS;

	if (!atomic_load_explicit(&in_vain, memory_order_relaxed))
		most += LAST_NAPS;
	for (unsigned i = 0; i < most; i++) {
		if (hold_last(cycle)) {
			atomic_store_explicit(&in_vain, false, memory_order_relaxed);
			return true;
		}
		if (i < LAST_SPINS)
			__builtin_ia32_pause();
		else if (__atomic_load_n(&last.tid, __ATOMIC_RELAXED) == tid)
			return false;
		else if (i < LAST_SPINS + LAST_YIELDS)
			syscall(SYS_sched_yield);
		else
			sys_nap(LAST_NAP_NS);
	}
	atomic_store_explicit(&in_vain, true, memory_order_relaxed);
	return false;
}

/* A thread still allocates and frees after its keys' destructors, ours among them:
 * records of the heap go into a state that all such threads share. */
struct thread *thread_last(enum record_kind kind, uint64_t cycle)
{
	uint32_t tid = sys_tid();

	if ((kind != REC_ALLOC && kind != REC_FREE) || !take_last(cycle, tid)) {
		if (kind != REC_HEAP) /* of the process, not of the thread */
			thread_drop(kind, DROP_DEAD);
		return NULL;
	}
	if (gate_cycle() != cycle) {
		atomic_store(&last.emitting, 0);
		return NULL;
	}
	if (last.tid != tid)
		last.said_ordinal = last.ordinal + 1; /* say who it is */
	__atomic_store_n(&last.tid, tid, __ATOMIC_RELAXED);
	return &last;
}

bool thread_midway(void)
{
	struct thread *t = thread_mine;

	return t && atomic_load_explicit(&t->emitting, memory_order_relaxed);
}

/* In the child the states of other threads are nobody's; ours starts afresh. */
void thread_forget(void)
{
	for (struct thread *t = atomic_load(&registry); t; t = t->next) {
		atomic_store(&t->emitting, 0);
		t->chunk = NULL;
		t->at = t->limit = t->end = NULL;
		t->cycle = 0;
		t->chunks = 0;
		t->tid = 0;
		t->counters = NULL;
		if (t != thread_mine && t != &last)
			atomic_store(&t->live, 0);
	}
	atomic_store(&leftover, 0);
	if (thread_mine)
		thread_mine->tid = sys_tid();
}

/* ---- chunks ---- */

/* The size grows with the chunks of this thread in this cycle. The first may be what a
 * dead thread left: a program may start thousands that write a few records each. */
static bool new_chunk(struct thread *t, uint64_t cycle, uint32_t need)
{
	uint32_t size = t->chunks == 0  ? CHUNK_SMALL
			: t->chunks < 4 ? CHUNK_MIDDLE
					: CHUNK_LARGE;
	struct chunk *c = t->chunks == 0 ? inherit_chunk(cycle, need) : NULL;

	if (!c) {
		struct cycle_info *info = emit_info(); /* a handler's child has none */
		uint64_t at;

		while (size < need + sizeof(*c) && size < CHUNK_LARGE)
			size *= 4;
		if (size < need + sizeof(*c))
			return false;
		if (thread_wants)
			thread_wants();
		at = chunk_take(CHUNK_DATA, size, cycle);
		if (!at)
			return false;
		c = chunk_at(at);
		if (info && at + size > atomic_load(&spool.head->ready))
			atomic_fetch_add(&info->faulted, 1);
	}
	t->chunk = c;
	t->at = (uint8_t *)c + atomic_load_explicit(&c->used, memory_order_relaxed);
	t->limit = t->end = (uint8_t *)c + c->size;
	t->cycle = cycle;
	t->chunks++;
	return true;
}

static void say_thread(struct thread *t)
{
	struct rec_thread *r = (struct rec_thread *)t->at;

	*r = (struct rec_thread){
		.r.begin = clock_ticks(),
		.tid = t->tid,
		.ordinal = t->ordinal,
	};
	if (!sys_confined)
		prctl(PR_GET_NAME, r->comm, 0, 0, 0);
	t->said_ordinal = t->ordinal;
	emit_commit(t, &r->r, REC_THREAD, 0, sizeof(*r));
}

/* A REC_THREAD must fit, too: it says whose the records behind it are, in a new chunk and
 * in one where another thread's lie before them. Where the heap has had its share, other
 * kinds get room for one record at a time, so that the heap finds next to none. */
bool thread_refill(struct thread *t, enum record_kind kind, uint64_t cycle, uint32_t size)
{
	uint32_t need = size + (uint32_t)sizeof(struct rec_thread);
	bool spare = chunk_spares(), room, fresh;
	struct rare cost;
	int saved = errno;

	if (!spare && record_is_heap(kind))
		return false;
	if (t->cycle != cycle) {
		t->chunks = 0;
		t->chunk = NULL;
	}
	rare_begin(&cost);
	room = t->chunk && (size_t)(t->end - t->at) >= need;
	fresh = !room;
	if (!room)
		room = new_chunk(t, cycle, need);
	if (room && (fresh || t->ordinal != t->said_ordinal))
		say_thread(t);
	if (room)
		t->limit = spare ? t->end : t->at + size;
	else
		t->cycle = 0, t->chunk = NULL, t->at = t->limit = t->end = NULL;
	rare_end(&cost);
	errno = saved;
	return room;
}

bool thread_quiet(uint64_t cycle)
{
	for (struct thread *t = atomic_load(&registry); t; t = t->next)
		if (atomic_load_explicit(&t->emitting, memory_order_acquire) == cycle)
			return false;
	return true;
}

void thread_let_leave(void)
{
	unsigned naps = 100000000 / LEAVE_NAP_NS;

	for (struct thread *t = atomic_load(&registry); t; t = t->next)
		for (; naps && atomic_load_explicit(&t->emitting, memory_order_acquire);
		     naps--)
			if (!sys_confined)
				sys_nap(LEAVE_NAP_NS);
}

void thread_drop(enum record_kind kind, enum drop_kind why)
{
	struct cycle_info *info = spool.head && gate_cycle() ? emit_info() : NULL;

	if (info) {
		atomic_fetch_add_explicit(&info->drops[kind], 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&info->whys[why], 1, memory_order_relaxed);
	} else if (spool.head) {
		atomic_fetch_add_explicit(&spool.head->totals.drops[kind], 1,
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&spool.head->totals.whys[why], 1,
					  memory_order_relaxed);
	}
}

void thread_end_record(struct record *r, uint64_t cycle, uint64_t ticks)
{
	struct thread *t =
		gate_cycle() == cycle ? emit_enter((enum record_kind)r->kind) : NULL;

	if (!t)
		return;
	if (atomic_load_explicit(&t->emitting, memory_order_relaxed) == cycle)
		r->end = ticks;
	emit_leave(t);
}

void thread_late(enum record_kind kind)
{
	atomic_fetch_add_explicit(&spool.head->totals.drops[kind], 1,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&spool.head->totals.whys[DROP_LATE], 1,
				  memory_order_relaxed);
}
