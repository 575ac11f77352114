/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a process's windows: step 0 begins with its first event (an operator, an
 * annotation, a marker), boundaries move the plan on, the clock and the exit end it.
 *
 * Without a plan from the user the default one is used, and a provisional window is
 * open from step 0 until its first active step begins: then it is thrown away. It is
 * kept when that step does not come: at the exit, at the cap, or after a minute.
 */
#include "agent/core/emit.h"
#include "agent/core/fmt.h"
#include "agent/core/log.h"
#include "agent/core/sys.h"
#include "agent/sched/cycle.h"
#include "agent/sched/state.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define SPINS         64
#define FAILURES      100000u
#define START_WAIT_NS 200000 /* between looks; 2 s in all */
#define START_TRIES   10000u

struct sched_state sched;
static struct sched_actions sched_act;
static __thread bool inside __attribute__((tls_model("initial-exec")));
static __thread bool starting __attribute__((tls_model("initial-exec")));

/* ---- the lock: held for a gate change, never across anything slow ---- */

bool sched_lock(void)
{
	if (inside)
		return false; /* a signal handler in the middle of a boundary */
	for (unsigned spins = 1;
	     atomic_exchange_explicit(&sched.lock, 1, memory_order_acquire); spins++)
		if (spins % SPINS == 0)
			sched_yield();
	inside = true;
	return true;
}

void sched_unlock(void)
{
	bool opened = atomic_load_explicit(&sched.opened, memory_order_relaxed);

	atomic_store_explicit(&sched.opened, false, memory_order_relaxed);
	inside = false;
	atomic_store_explicit(&sched.lock, 0, memory_order_release);
	if (opened && sched.act->opened_now)
		sched.act->opened_now();
}

static void window_opened(struct cycle_info *info)
{
	atomic_store_explicit(&sched.opened, true, memory_order_relaxed);
	if (sched.act->opened)
		sched.act->opened(info);
}

/* ---- windows by the plan ---- */

void sched_observe(void)
{
	bool first = sched_life() == LIFE_NONE &&
		     (!sched.given || sched.may_follow ||
		      schedule_at(&sched.plan, 0) >= PHASE_RECORD);

	sched.act->observe((cycle_now && !sched.cpu_off) || sched.ops ||
			   follow_active() || (first && atomic_load(&sched.torch)));
}

static uint32_t kind_flags(void)
{
	return sched.marker.kind == MARKER_TIME ? CYCLE_TIMED : 0;
}

static void open_window(uint32_t flags, uint64_t now)
{
	bool thrown = cycle_now && cycle_now->flags & CYCLE_PROVISIONAL;

	cycle_open((int64_t)sched.step, flags | kind_flags(), now,
		   thrown ? CYCLE_THROW : CYCLE_KEEP);
}

/* What torch.profiler does between two steps, and the default plan's own extra. */
static void turn(enum phase next, uint64_t now)
{
	unsigned todo = schedule_change(sched.phase, next);

	sched.phase = next;
	if (todo & (DO_PREPARE | DO_PREPARE_AGAIN))
		sched.act->arm();
	if (todo & (DO_START | DO_START_AGAIN) && next >= PHASE_RECORD) {
		sched.settled = true;
		open_window(0, now);
	} else if (todo & DO_STOP) {
		cycle_close(now, todo & DO_SAVE ? CYCLE_KEEP : CYCLE_THROW);
	} else if (!sched.given && !sched.settled && !cycle_now) {
		open_window(CYCLE_PROVISIONAL, now);
	} else if (!todo) {
		return;
	}
	sched_observe();
}

static void open_first(uint64_t now)
{
	sched.phase = PHASE_NONE;
	if (sched.marker.kind == MARKER_NONE) {
		cycle_open(-1, CYCLE_WHOLE, sched.main_ticks ? sched.main_ticks : now,
			   CYCLE_KEEP);
		return;
	}
	turn(schedule_at(&sched.plan, 0), now);
	cycle_step_begin(0, now);
}

static void begin_life(uint64_t now)
{
	bool alone = sched.marker.kind == MARKER_NONE || sched.marker.kind == MARKER_TIME;

	sched.step = 0;
	sched.begun = now;
	atomic_store(&sched.last, now);
	if (job_mine && atomic_load(&sched.torch))
		atomic_store(&job_mine->torch, TORCH_USED);
	if (job && atomic_load(&sched.patched))
		atomic_fetch_or(&job->told,
				TOLD_SYMBOL); /* found here: no news elsewhere */
	sched.due_ns = clock_get_ns(CLOCK_MONOTONIC) + (int64_t)sched.marker.period_ns;
	sched.driver = alone;
	if (alone || !follow_begin(now))
		open_first(now);
	/* Not before the window is open: until then all events come here and wait. */
	if (alone || !follow_active())
		follow_nobody();
	atomic_store_explicit(&sched.life, LIFE_ON, memory_order_release);
	sched_observe();
}

/* While one thread gets all ready, the others' first events wait a moment, as at any
 * pthread_once: else a burst of threads would begin unseen. */
static bool wait_for_start(void)
{
	struct timespec moment = { .tv_nsec = START_WAIT_NS };

	for (unsigned i = 0;
	     !starting && sched_life() == LIFE_STARTING && i < START_TRIES; i++)
		if (i < SPINS)
			sched_yield();
		else
			nanosleep(&moment, NULL);
	return sched_life() == LIFE_ON;
}

/* Another thread may be at it just now; one that fails for good is asked no more. */
static void not_begun(void)
{
	static _Atomic uint32_t failures;

	if (atomic_fetch_add(&failures, 1) < FAILURES) {
		atomic_store(&sched.life, LIFE_NONE);
		return;
	}
	atomic_store(&sched.life, LIFE_OFF);
	follow_nobody();
	sched.act->observe(false);
}

static bool wake_at(uint64_t begun)
{
	uint32_t none = LIFE_NONE;
	int saved = errno;

	if (!atomic_compare_exchange_strong(&sched.life, &none, LIFE_STARTING))
		return none == LIFE_STARTING && wait_for_start();
	starting = true;
	if (!sched.act->begin() || !spool.head) {
		not_begun();
	} else if (!sched_lock()) {
		atomic_store(&sched.life, LIFE_NONE);
	} else {
		begin_life(begun ? begun : clock_ticks());
		sched_unlock();
	}
	starting = false;
	errno = saved;
	return sched_life() == LIFE_ON;
}

bool sched_wake(void)
{
	return __builtin_expect(sched_life() == LIFE_ON, 1) || wake_at(0);
}

/* ---- boundaries ---- */

static void remember(const char *chosen)
{
	char *to = spool.head->sched.chosen;

	if (chosen && strncmp(to, chosen, sizeof(spool.head->sched.chosen) - 1))
		fmt(to, sizeof(spool.head->sched.chosen), "%s", chosen);
}

static void boundary(bool row, uint64_t now)
{
	if (!sched.driver) {
		follow_end(now);
		spool_share(1);
	}
	sched.driver = true;
	cycle_step_end(now);
	sched.step++;
	atomic_store_explicit(&sched.last, now, memory_order_relaxed);
	turn(schedule_at(&sched.plan, sched.step), now);
	if (row)
		cycle_step_begin((int64_t)sched.step, now);
	atomic_fetch_add_explicit(&spool.head->sched.boundaries, 1, memory_order_relaxed);
	if (job_mine)
		atomic_fetch_add_explicit(&job_mine->boundaries, 1, memory_order_relaxed);
}

void sched_boundary(const char *chosen, bool row)
{
	int saved = errno;

	/* When the boundary is the first event of all, the step that it ends is what
	 * the program did so far. */
	if ((sched_life() == LIFE_ON || wake_at(sched.main_ticks)) && sched_lock()) {
		if (sched_life() == LIFE_ON) {
			remember(chosen);
			boundary(row, clock_ticks());
		}
		sched_unlock();
	}
	errno = saved;
}

void sched_follow_changed(void)
{
	int saved = errno;

	if (sched_life() == LIFE_NONE || sched_life() == LIFE_STARTING) {
		sched_wake();
	} else if (sched_life() == LIFE_ON && sched_lock()) {
		if (sched_life() == LIFE_ON)
			follow_sync(clock_ticks());
		sched_unlock();
	}
	errno = saved;
}

/* ---- start, fork, exit ---- */

void sched_start(const struct config *cfg, const struct sched_actions *actions)
{
	const char *why;

	sched_act = *actions;
	sched.act = &sched_act;
	sched.children = cfg->children;
	sched.cpu_off = cfg->activities == ACTIVITIES_CUDA;
	cycle_start(&(struct cycle_listener){ .opened = window_opened,
					      .ending = actions->ending,
					      .ended = actions->ended,
					      .sealed = actions->sealed });
	why = marker_parse(&sched.marker, cfg->marker);
	if (why) {
		log_warn("marker = %s: %s; going on with auto", cfg->marker, why);
		memset(&sched.marker, 0, sizeof(sched.marker));
	}
	why = *cfg->schedule ? schedule_parse(&sched.plan, cfg->schedule) : "";
	if (why && *why)
		log_warn("schedule = %s: %s; going on with the default", cfg->schedule,
			 why);
	sched.given = !why;
	if (why)
		sched.plan = (struct schedule){
			.wait = 1, .warmup = 1, .active = 3, .repeat = 1
		};
	if (sched.marker.kind == MARKER_NONE && *cfg->schedule)
		log_note(
			"schedule is not used: marker = none makes the whole run one window");
	sched.ops = marker_may_be_op(&sched.marker);
	follow_wait_first();
}

void sched_torch_found(void)
{
	int saved = errno;

	if (sched_life() == LIFE_OFF || atomic_exchange(&sched.torch, 1))
		return;
	/* So that descendants find us, even if we never record anything ourselves. */
	if (sched.act->begin() && job_mine) {
		uint32_t none = TORCH_NONE;

		atomic_compare_exchange_strong(&job_mine->torch, &none, TORCH_FOUND);
		/* A worker that was spawned: only its operators can tell it to follow. */
		sched.may_follow = job_ancestor() != NULL;
	}
	if (sched.marker.kind == MARKER_TIME || sched.marker.kind == MARKER_NONE)
		sched_wake();
	if (sched_lock()) {
		sched_observe();
		sched_unlock();
	}
	errno = saved;
}

void sched_used(void)
{
	int saved = errno;

	/* With torch the first operator says when step 0 begins. */
	if (sched_life() == LIFE_NONE && !atomic_load(&sched.torch))
		sched_wake();
	errno = saved;
}

bool sched_begun(void)
{
	return sched_life() == LIFE_ON;
}

void sched_collect(bool on)
{
	int saved = errno;

	if (sched_lock()) {
		sched.cpu_off = !on;
		sched_observe();
		sched_unlock();
	}
	errno = saved;
}

void sched_main(void)
{
	sched.main_ticks = clock_ticks();
	if (sched.marker.kind == MARKER_NONE)
		sched_wake();
	sched_library();
}

void sched_fork_child(void)
{
	inside = false;
	atomic_store(&sched.lock, 0);
	atomic_store(&sched.life,
		     sched.children && sched_life() != LIFE_OFF ? LIFE_NONE : LIFE_OFF);
	sched.main_ticks = 0;
	sched.driver = sched.settled = false;
	cycle_fork_child();
	marks_fork_child();
	if (sched.children)
		follow_wait_first();
	else
		follow_nobody();
}
