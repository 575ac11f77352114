/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: their descriptors in the spool, what followers read of them on the job's page,
 * and the order in which listeners, gate and writer learn that one begins or ends.
 */
#include "agent/sched/cycle.h"
#include "agent/core/chunk.h"
#include "agent/core/cost.h"
#include "agent/core/emit.h"
#include "agent/core/rare.h"
#include "base/log.h"

#include <string.h>
#include <time.h>

#define NAP     100000 /* ns */
#define LONGEST 50000000ll /* ns */

struct cycle_info *cycle_now, *cycle_held;
uint32_t cycle_stage;
static struct cycle_listener tell;
static int64_t last_stamp;

static struct {
	struct rec_step *rec; /* the step that is open, NULL = none */
	uint64_t cycle;
} step;

void cycle_start(const struct cycle_listener *listener)
{
	tell = *listener;
}

/* ---- what followers see ---- */

static struct job_window *window_of(uint64_t number)
{
	return job_mine ? &job_mine->window[number % JOB_WINDOWS] : NULL;
}

static void publish_begin(const struct cycle_info *info)
{
	struct job_window *w = window_of(info->number);

	if (!w)
		return;
	atomic_store(&w->cycle, 0); /* readers of the old window see that it is gone */
	atomic_store(&w->begin, info->begin);
	atomic_store(&w->end, 0);
	atomic_store(&w->fate, info->flags & CYCLE_PROVISIONAL ? FATE_OPEN : FATE_KEPT);
	atomic_store(&w->cycle, info->number);
}

static void publish_end(const struct cycle_info *info, enum cycle_end how)
{
	struct job_window *w = window_of(info->number);

	if (!w || atomic_load(&w->cycle) != info->number)
		return;
	atomic_store(&w->end, info->end);
	atomic_store(&w->fate, how == CYCLE_KEEP ? FATE_KEPT : FATE_THROWN);
}

/* Nobody follows an early window: it is seldom kept. */
static bool is_early(const struct cycle_info *info)
{
	return info && info->flags & CYCLE_EARLY;
}

/* A window's end and fate are on the page before the gate's number changes: a follower
 * that sees the new number finds all it needs about the old window. */
static void flip_gate(uint64_t number, uint64_t at)
{
	gate_set(number, at);
	if (job_mine)
		atomic_store(&job_mine->gate, is_early(cycle_now) ? 0 : number);
}

/* ---- windows ---- */

/* The stamp names files: unique in the process and rising, whatever the clock does. */
static int64_t next_stamp(void)
{
	int64_t now = sys_clock_ns(CLOCK_REALTIME);

	last_stamp = now > last_stamp ? now : last_stamp + 1;
	return last_stamp;
}

/* The spool is small while the program locks its memory, which is soon done: a window is
 * worth a wait, though not each one of a lock that takes long. */
static uint64_t take_descriptor(uint32_t size, uint64_t number)
{
	static bool waited;
	int64_t until = waited ? 0 : sys_clock_ns(CLOCK_MONOTONIC) + LONGEST;
	uint64_t at = chunk_take(CHUNK_CYCLE, size, number);

	while (!at && atomic_load(&spool.small) &&
	       sys_clock_ns(CLOCK_MONOTONIC) < until) {
		sys_nap(NAP);
		at = chunk_take(CHUNK_CYCLE, size, number);
	}
	waited = !at && atomic_load(&spool.small);
	return at;
}

static uint64_t make_cycle_info(int64_t first_step, uint32_t flags, uint64_t begin)
{
	uint64_t number = atomic_load(&spool.head->cycles) + 1;
	uint32_t size = sizeof(struct chunk) + sizeof(struct cycle_info);
	uint64_t at = take_descriptor(size, number);
	struct cycle_info *info;

	if (!at)
		return 0;
	info = (struct cycle_info *)(chunk_at(at) + 1);
	memset((void *)info, 0, sizeof(*info));
	info->number = number;
	info->flags = flags;
	info->begin = begin;
	info->stamp_ns = next_stamp();
	info->first_step = first_step;
	info->stage = flags & CYCLE_CHILD ? 0 : cycle_stage;
	atomic_store_explicit(&info->state, CYCLE_OPEN, memory_order_release);
	/* A reader takes a descriptor only when the chunk's length covers all of it. */
	atomic_store_explicit(&chunk_at(at)->used, size, memory_order_release);
	atomic_store(&spool.head->cycles, number);
	return at;
}

static void end_old(struct cycle_info *old, uint64_t end, enum cycle_end how)
{
	if (!old)
		return;
	if (tell.ending)
		tell.ending();
	/* CUPTI's consumer, another thread, reads `end` while the window is still
	 * open. */
	__atomic_store_n(&old->end, end, __ATOMIC_RELEASE);
	publish_end(old, how);
}

static void settle_window(struct cycle_info *old, enum cycle_end how)
{
	if (how == CYCLE_THROW) {
		atomic_fetch_add(&spool.head->totals.discarded, 1);
		cost_keep(old);
	}
	atomic_store_explicit(&old->state,
			      how == CYCLE_KEEP ? CYCLE_SEALED : CYCLE_DISCARDED,
			      memory_order_release);
	if (tell.sealed)
		tell.sealed();
}

/* Runs after the gate has changed: nobody can enter the old window any more. */
static void hand_over(struct cycle_info *old, enum cycle_end how)
{
	if (!old)
		return;
	atomic_fetch_add(&old->rare_ns, rare_take());
	if (tell.ended)
		tell.ended(old, how != CYCLE_THROW);
	if (how != CYCLE_HOLD) {
		settle_window(old, how);
		return;
	}
	cycle_release(CYCLE_THROW);
	cycle_held = old;
}

void cycle_release(enum cycle_end how)
{
	if (cycle_held)
		settle_window(cycle_held, how);
	cycle_held = NULL;
}

/* A window that is missed while the spool is small is no sign of a full one. */
static void count_missed(void)
{
	if (chunk_lacks(REC_STEP) == DROP_LOCKED)
		atomic_fetch_add(&spool.head->sched.locked_out, 1);
	else if (!atomic_fetch_add(&spool.head->sched.missed, 1))
		log_warn("a window could not be opened: the %lu MiB of buffer_mb are "
			 "full of what is not yet written; try a larger --buffer-mb",
			 (unsigned long)(spool.head->cap >> 20));
}

/* The new descriptor is made first: where the spool has no room for it the old window
 * ends all the same. Listeners hear of the new window before the gate shows it to
 * anybody. */
bool cycle_open(int64_t first_step, uint32_t flags, uint64_t begin, enum cycle_end how)
{
	struct cycle_info *old = cycle_now;
	uint64_t at;

	if (!spool.head)
		return false;
	at = make_cycle_info(first_step, flags, begin);
	end_old(old, begin, how);
	cycle_now = at ? (struct cycle_info *)(chunk_at(at) + 1) : NULL;
	if (at && !is_early(cycle_now))
		publish_begin(cycle_now);
	if (at && tell.opened)
		tell.opened(cycle_now);
	flip_gate(at ? cycle_now->number : 0, at);
	hand_over(old, how);
	if (!at && flags & CYCLE_EARLY)
		return false; /* nobody has asked for it */
	if (!at)
		count_missed();
	else if (!(flags & (CYCLE_PROVISIONAL | CYCLE_CHILD)))
		atomic_fetch_add(&spool.head->sched.windows, 1);
	return at;
}

void cycle_close(uint64_t end, enum cycle_end how)
{
	struct cycle_info *old = cycle_now;

	if (!old)
		return;
	end_old(old, end, how);
	cycle_now = NULL;
	flip_gate(0, 0);
	hand_over(old, how);
}

void cycle_settle(uint32_t flags_off)
{
	struct job_window *w;

	if (!cycle_now)
		return;
	cycle_now->flags &= ~flags_off;
	w = window_of(cycle_now->number);
	if (w && !(cycle_now->flags & CYCLE_PROVISIONAL))
		atomic_store(&w->fate, FATE_KEPT);
}

bool cycle_kept(void)
{
	struct job_window *w = cycle_now ? window_of(cycle_now->number) : NULL;

	return w && atomic_load(&w->cycle) == cycle_now->number &&
	       atomic_load(&w->fate) == FATE_KEPT;
}

/* ---- steps ---- */

/* The step's row is the calling thread's: its record lies in that thread's chunk, where
 * any thread may end it. */
void cycle_step_begin(int64_t number, uint64_t begin)
{
	struct thread *t = cycle_now ? emit_enter(REC_STEP) : NULL;
	struct rec_step *r;

	step.rec = NULL;
	if (!t)
		return;
	r = emit_reserve(t, REC_STEP, sizeof(*r));
	if (r) {
		r->r.name = 0;
		r->r.begin = begin;
		r->r.end = 0;
		r->number = number;
		step.rec = r;
		step.cycle = cycle_now->number;
		emit_commit(t, &r->r, REC_STEP, 0, sizeof(*r));
	}
	emit_leave(t);
}

/* Any thread may end the step. The scheduler's lock keeps the window open meanwhile, so
 * the chunk is not the writer's yet. */
void cycle_step_end(uint64_t end)
{
	if (step.rec && cycle_now && step.cycle == cycle_now->number)
		step.rec->r.end = end;
	step.rec = NULL;
}

void cycle_step_void(void)
{
	if (step.rec && cycle_now && step.cycle == cycle_now->number)
		step.rec->r.flags |= STEP_VOID;
	step.rec = NULL;
}

void cycle_fork_child(void)
{
	cycle_now = cycle_held = NULL;
	step.rec = NULL;
}
