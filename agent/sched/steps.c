/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a process's windows: step 0 begins with its first event (an operator, an
 * annotation, a marker), boundaries move the plan on, the clock and the exit end it.
 *
 * Without a plan from the user the default one is used, and a provisional window is
 * open from step 0 until its first active step begins: then it is thrown away. It is
 * kept when that step does not come: at the exit, at the cap, or after a minute.
 *
 * Before the first window of the user's plan there are early ones (early.c), but of no
 * stage.
 *
 * Where the heap is recorded and the marker is `auto`, the run is one window until torch,
 * CUDA or a step is met: then that window is thrown away, and step 0 begins with the next
 * event.
 */
#include "agent/core/emit.h"
#include "agent/core/rare.h"
#include "agent/sched/cycle.h"
#include "agent/sched/early.h"
#include "agent/sched/state.h"
#include "base/fmt.h"
#include "base/roomy.h"
#include "base/sys.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#define SPINS         64
#define FAILURES      100000u
#define START_WAIT_NS 200000 /* ns between two looks at the start ... */
#define START_MOST    100000000ll /* ... and in all; later the event is not recorded */

static __thread bool starting __attribute__((tls_model("initial-exec")));

bool sched_is_whole(void)
{
	return stage_run.marker.kind == MARKER_NONE ||
	       (stage_run.marker.kind == MARKER_AUTO && !atomic_load(&sched.torch) &&
		!(job && atomic_load(&job->told) & JOB_TOLD_TORCH));
}

/* ---- windows by the plan ---- */

static uint32_t kind_flags(void)
{
	return stage_run.marker.kind == MARKER_TIME ? CYCLE_TIMED : 0;
}

/* A stage may be left before a step of its plan's window has ended: so long what was
 * there before is held. */
static void open_window(uint32_t flags, uint64_t now)
{
	bool thrown = cycle_now && cycle_now->flags & CYCLE_PROVISIONAL && !cycle_kept();
	enum cycle_end how = sched.now->number ? CYCLE_HOLD : CYCLE_THROW;

	cycle_open((int64_t)sched.now->step, flags | kind_flags(), now,
		   thrown ? how : CYCLE_KEEP);
}

/* Does what torch.profiler does between two steps; the default plan has a provisional
 * window besides. */
static void enter_phase(enum phase next, uint64_t now)
{
	unsigned todo = schedule_change(sched.now->phase, next);
	bool waits = sched.now->given && !sched.now->settled && !sched.now->number;

	sched.now->phase = next;
	if (todo & (DO_PREPARE | DO_PREPARE_AGAIN))
		sched.act->arm();
	if (todo & (DO_START | DO_START_AGAIN) && next >= PHASE_RECORD) {
		sched.now->settled = true;
		open_window(0, now);
		if (!sched.now->number)
			cycle_release(CYCLE_THROW);
	} else if (todo & DO_STOP) {
		cycle_close(now, todo & DO_SAVE ? CYCLE_KEEP : CYCLE_THROW);
	} else if (!sched.now->given && !sched.now->settled && !cycle_now) {
		open_window(CYCLE_PROVISIONAL, now);
	} else if (!(waits && early_pass(next, kind_flags(), now)) && !todo) {
		return;
	}
	sched_observe();
}

void steps_begin(uint64_t now)
{
	enter_phase(schedule_at(&sched.now->plan, sched.now->step), now);
	cycle_step_begin((int64_t)sched.now->step, now);
	atomic_store_explicit(&sched.last, now, memory_order_relaxed);
}

static void open_first(uint64_t now)
{
	sched.now->phase = PHASE_NONE;
	if (stage_run.marker.kind == MARKER_NONE || atomic_load(&sched.whole)) {
		bool stays = stage_run.marker.kind == MARKER_NONE;

		atomic_store(&spool.head->meanwhile, !stays);
		cycle_open(-1, CYCLE_WHOLE | (stays ? 0 : CYCLE_PROVISIONAL),
			   sched.main_ticks ? sched.main_ticks : now, CYCLE_KEEP);
		return;
	}
	if (stage_run.marker.kind != MARKER_OUTSIDE)
		steps_begin(now);
}

static void begin_life(uint64_t now)
{
	bool alone = stage_run.marker.kind == MARKER_NONE ||
		     stage_run.marker.kind == MARKER_TIME || atomic_load(&sched.whole);

	stage_reset();
	sched.begun = now;
	atomic_store(&sched.last, now);
	if (job_mine && atomic_load(&sched.torch))
		atomic_store(&job_mine->torch, TORCH_USED);
	if (job && atomic_load(&sched.patched))
		atomic_fetch_or(&job->told,
				TOLD_SYMBOL); /* found here: nobody need say it is not */
	sched.due_ns =
		sys_clock_ns(CLOCK_MONOTONIC) + (int64_t)stage_run.marker.period_ns;
	sched.driver = alone;
	if (alone || !follow_begin(now))
		open_first(now);
	/* follow_nobody() comes after the window is open: until then every event calls us
	 * and waits. */
	if (alone || !follow_active())
		follow_nobody();
	atomic_store_explicit(&sched.life, LIFE_ON, memory_order_release);
	sched_observe();
}

/* Events that came while nothing could be recorded: counted as dropped once a window is
 * there. */
static _Atomic uint64_t unseen;

static void tell_unseen(void)
{
	for (uint64_t n = atomic_exchange(&unseen, 0); n; n--)
		thread_drop(REC_NONE, DROP_START);
}

/* While one thread gets all ready, the others' first events wait a moment, as at any
 * pthread_once: else a burst of threads would begin unseen. */
static bool wait_for_start(void)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + START_MOST;

	for (unsigned i = 0; !starting && sched_life() == LIFE_STARTING &&
			     sys_clock_ns(CLOCK_MONOTONIC) < until;
	     i++)
		if (i < SPINS)
			sched_yield();
		else
			sys_nap(START_WAIT_NS);
	if (sched_life() == LIFE_STARTING)
		atomic_fetch_add(&unseen, 1);
	return sched_life() == LIFE_ON;
}

static _Atomic uint32_t begin_failures;

/* act->begin() fails while another thread is in it, so the next event tries again; after
 * FAILURES failures it is called no more. */
static void not_begun(void)
{
	if (atomic_fetch_add(&begin_failures, 1) < FAILURES) {
		atomic_store(&sched.life, LIFE_NONE);
		return;
	}
	atomic_store(&sched.life, LIFE_OFF);
	follow_nobody();
	sched.act->observe(false);
}

struct waking {
	uint64_t begun; /* 0 = now */
	bool whole;
};

static void start_recorder(void *arg)
{
	const struct waking *w = arg;

	if (!sched.act->begin() || !spool.head) {
		not_begun();
	} else if (!sched_lock()) {
		atomic_fetch_add(&unseen, 1);
		atomic_store(&sched.life, LIFE_NONE);
	} else {
		atomic_store(&sched.whole,
			     w->whole && stage_run.marker.kind != MARKER_NONE);
		if (!sched_is_whole()) /* torch was found meanwhile */
			atomic_store(&sched.whole, false);
		begin_life(w->begun ? w->begun : clock_ticks());
		tell_unseen();
		sched_unlock();
	}
}

static bool wake_scheduler(struct waking w)
{
	uint32_t none = LIFE_NONE;
	struct rare cost;
	int saved = errno;

	if (!atomic_compare_exchange_strong(&sched.life, &none, LIFE_STARTING))
		return none == LIFE_STARTING && wait_for_start();
	starting = true;
	rare_begin(&cost);
	roomy_call(start_recorder, &w);
	rare_end(&cost);
	starting = false;
	errno = saved;
	return sched_life() == LIFE_ON;
}

bool sched_wake(void)
{
	return __builtin_expect(sched_life() == LIFE_ON, 1) ||
	       wake_scheduler((struct waking){ 0 });
}

/* ---- one window, until something is found that has steps ---- */

void sched_wake_whole(void)
{
	if (sched_life() == LIFE_NONE)
		wake_scheduler((struct waking){ .whole = true });
}

void sched_whole_ends(void)
{
	if (!atomic_load(&sched.whole) || !sched_lock())
		return;
	if (atomic_exchange(&sched.whole, false) && sched_life() == LIFE_ON) {
		cycle_close(clock_ticks(), CYCLE_THROW);
		atomic_store(&spool.head->meanwhile, 0);
		sched.main_ticks = 0; /* what was recorded since then is gone */
		follow_wait_first();
		atomic_store(&sched.life, LIFE_NONE);
	}
	sched_unlock();
}

bool sched_whole_goes(void)
{
	return atomic_load(&sched.whole) && job &&
	       atomic_load(&job->told) & JOB_TOLD_TORCH;
}

/* ---- boundaries ---- */

static void remember_rule(const char *chosen)
{
	char *to = spool.head->sched.chosen;

	if (chosen && strncmp(to, chosen, sizeof(spool.head->sched.chosen) - 1))
		fmt(to, sizeof(spool.head->sched.chosen), "%s", chosen);
}

void steps_drive(uint64_t now)
{
	if (!sched.driver) {
		follow_end(now);
		spool_share(1);
	}
	sched.driver = true;
}

void steps_count(void)
{
	struct spool_sched *told = &spool.head->sched;
	unsigned number = sched.now->number;

	sched.now->step++;
	if (cycle_now && !(cycle_now->flags & CYCLE_PROVISIONAL))
		cycle_release(CYCLE_THROW);
	atomic_fetch_add_explicit(&told->boundaries, 1, memory_order_relaxed);
	if (number)
		atomic_fetch_add_explicit(&told->stage[number - 1].steps, 1,
					  memory_order_relaxed);
	if (job_mine)
		atomic_fetch_add_explicit(&job_mine->boundaries, 1, memory_order_relaxed);
}

void steps_pass(bool row, uint64_t now)
{
	steps_drive(now);
	cycle_step_end(now);
	steps_count();
	atomic_store_explicit(&sched.last, now, memory_order_relaxed);
	enter_phase(schedule_at(&sched.now->plan, sched.now->step), now);
	if (row)
		cycle_step_begin((int64_t)sched.now->step, now);
}

/* The lock is held, and step 0 has begun. False: this boundary is not seen. */
static bool take_boundary(void)
{
	sched_whole_ends();
	/* When the boundary is the first event of all, the step that it ends is what the
	 * program did since main began. */
	if (sched_life() != LIFE_ON &&
	    !wake_scheduler((struct waking){ .begun = sched.main_ticks }))
		return false;
	if (!sched_lock()) {
		thread_drop(REC_NONE, DROP_BOUNDARY);
		return false;
	}
	if (sched_life() == LIFE_ON) {
		tell_unseen();
		return true;
	}
	sched_unlock();
	return false;
}

void sched_boundary(const char *chosen, bool row)
{
	struct rare cost;
	int saved = errno;

	rare_begin(&cost);
	if (take_boundary()) {
		remember_rule(chosen);
		steps_pass(row, clock_ticks());
		sched_unlock();
	}
	rare_end(&cost);
	errno = saved;
}

void steps_change(void (*how)(struct stage *s, uint64_t now), struct stage *s)
{
	struct rare cost;
	int saved = errno;

	rare_begin(&cost);
	if (take_boundary()) {
		how(s, clock_ticks());
		sched_unlock();
	}
	rare_end(&cost);
	errno = saved;
}

bool sched_midway(void)
{
	return sched_locked() || starting;
}

void steps_fork_child(void)
{
	atomic_store(&begin_failures, 0);
}
