/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are measured by the processor's counter, which goes on while the thread does
 * not run. A sample that took long is cut to LONG_TICKS, because each stands for many
 * events.
 */
#include "agent/core/cost.h"
#include "agent/core/emit.h"
#include "agent/core/rare.h"

#define LONG_TICKS 65536 /* some 20 us */
#define LOOKS      31

static _Atomic uint64_t clock_takes; /* ticks of one look at the clock + 1; 0 = unknown */

/* The median of so many looks: the least may be far less than a look ever takes again. */
static uint64_t learn_clock(void)
{
	uint64_t sorted[LOOKS];

	for (unsigned i = 0, at; i < LOOKS; i++) {
		uint64_t begin = clock_ticks(), ticks = clock_ticks() - begin;

		for (at = i; at && sorted[at - 1] > ticks; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = ticks;
	}
	atomic_store_explicit(&clock_takes, sorted[LOOKS / 2] + 1, memory_order_relaxed);
	return sorted[LOOKS / 2] + 1;
}

/* Draws after how many events the next sample comes: the time's last digits are random
 * enough. */
static void draw_next(uint64_t ticks)
{
	if (thread_mine)
		thread_mine->due = 1 + (uint32_t)(ticks * 0x9e3779b97f4a7c15ull >> 33) %
					       (2 * COST_EVERY - 1);
}

/* The open window's descriptor, for an event that is no record. Until let_window the
 * window stays, also for a child that a signal's handler forks. Within a record, that
 * record holds the window. NULL: no window, or a thread that has recorded nothing. */
static struct cycle_info *hold_window(bool *held)
{
	struct thread *t = thread_mine;

	*held = false;
	if (!t)
		return NULL;
	if (atomic_load_explicit(&t->emitting, memory_order_relaxed))
		return gate_cycle() ? emit_info() : NULL;
	*held = emit_enter(REC_NONE) != NULL;
	return *held ? emit_info() : NULL;
}

static void let_window(bool held)
{
	if (held)
		emit_leave(thread_mine);
}

static void add_ticks(enum cost_kind kind, uint64_t ticks, unsigned samples)
{
	bool held;
	struct cycle_info *info = hold_window(&held);

	if (info) {
		atomic_fetch_add_explicit(&info->cost[kind].ticks, ticks,
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&info->cost[kind].samples, samples,
					  memory_order_relaxed);
	}
	let_window(held);
}

struct cost_span cost_begin(void)
{
	uint64_t rare = rare_ticks;

	return (struct cost_span){ clock_ticks(), rare };
}

/* Ticks since `begin`, less what the clock takes itself and what was rare work
 * meanwhile. */
static uint64_t ticks_since(uint64_t begin, uint64_t now, uint64_t rare)
{
	uint64_t clock = atomic_load_explicit(&clock_takes, memory_order_relaxed),
		 less = (clock ? clock : learn_clock()) - 1 + rare_ticks - rare;

	return now - begin > less ? now - begin - less : 0;
}

void cost_end(struct cost_span s, enum cost_kind kind)
{
	uint64_t now = clock_ticks(), ticks = ticks_since(s.begin, now, s.rare);

	draw_next(now);
	if (__builtin_expect(ticks >= LONG_TICKS, 0))
		ticks = LONG_TICKS; /* an interrupt, or the processor was another's */
	add_ticks(kind, ticks, 1);
}

void cost_more(uint64_t begin, enum cost_kind kind)
{
	uint64_t ticks = ticks_since(begin, clock_ticks(), rare_ticks);

	if (ticks < LONG_TICKS)
		add_ticks(kind, ticks, 0);
}

/* Nobody counts the events of a window thrown away: each sample stands for as many of
 * them as one does on average. */
void cost_keep(const struct cycle_info *info)
{
	struct cycle_info *i = (struct cycle_info *)info;
	double ticks = 0;

	for (unsigned kind = 0; kind < COST_PASS; kind++)
		ticks += (kind < COST_WHOLE ? COST_EVERY : 1) *
			 (double)atomic_load(&i->cost[kind].ticks);
	atomic_fetch_add(&spool.head->rare_ns,
			 (uint64_t)(ticks * 1e9 / clock_rate(spool.head)) +
				 atomic_load(&i->rare_ns));
}
