/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own threads, each there only while it has something to do.
 *
 * The keeper populates memory ahead of the program, keeps time, and hands finished
 * windows to the finisher.  It opens no file, for it may be the last to leave the process
 * and then runs the program's handlers of exit.  It exists once a process of several
 * threads (with plain LD_PRELOAD: any) has recorded 1 MiB, or a window of torch, of CUDA
 * or of the clock needs it, or a finished one waits to be handed over.
 *
 * Where there is no finisher (plain LD_PRELOAD), and where it has not taken a window for
 * ten seconds and is gone, the formatter makes files, at the lowest priority, or at the
 * program's own where the program waits for it at its end.  The sampler then reads how
 * large the process is.  Both have descriptors of their own.
 */
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/spool.h"
#include "base/own_thread.h"
#include "base/sys.h"
#include "writer/ahead.h"
#include "writer/batch.h"
#include "writer/crew.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define DUE       (1ull << 20) /* recorded bytes from which on a keeper is worth it */
#define SECOND    1000000000ll
#define LOOK      (SECOND / 10) /* between looks whether the keeper is alone */
#define OPEN_WAIT 20000000ll /* ns between looks at a window's memory */
#define IDLE      (2 * SECOND) /* without work, then the keeper goes */
#define PAUSE_NS  100000000ll /* how long a fork waits for the threads to go, in all */

static const struct config *settings;
static struct writer_hooks hooks;

static _Atomic uint32_t wanted; /* counts requests; the keeper sleeps on it */
static _Atomic uint32_t served; /* `wanted` when all that was sealed had been written */
static _Atomic uint32_t looked; /* `wanted` as windows were last looked for */
static _Atomic uint32_t sleeping;
static _Atomic uint32_t stopping;
static _Atomic bool forgotten; /* the formatter is to see whether the finisher is there */
static _Atomic bool pausing; /* no thread is to come now */
static _Atomic uint32_t paused_at; /* `wanted` as the pause began */
static _Atomic uint32_t waited_for; /* the program ends, and waits for the formatter */
static _Atomic uint32_t needed; /* by a window of torch, CUDA or the clock */
static bool started, stopped, alone;

/* ---- the formatter ---- */

/* Writes all sealed windows, also those sealed meanwhile. `served` then is at least the
 * number of requests that there were when it began. */
static void write_sealed(void)
{
	uint32_t now = atomic_load(&wanted);

	atomic_store(&looked, now);
	while (batch_write(settings, false, NULL) && !batch_failed())
		;
	atomic_store(&served, now);
	sys_futex_wake(&served);
}

static void *run_formatter(void *arg)
{
	bool low = !atomic_load(&waited_for);

	(void)arg;
	crew_begins(CREW_FORMATTER);
	if (low)
		setpriority(PRIO_PROCESS, sys_tid(), 19);
	if (alone) {
		do
			write_sealed();
		while (atomic_load(&wanted) != atomic_load(&served) &&
		       !(low && atomic_load(&waited_for)));
	} else if (atomic_exchange(&forgotten, false) && job_take_over()) {
		batch_write(settings, true, NULL);
		job_give_back();
	}
	while (spool_must_reserve(AHEAD_MOST) && !spool_reserve(AHEAD_MOST))
		;
	crew_ends(CREW_FORMATTER);
	/* A request that came in between must not wait for the keeper's next look. */
	if (alone && atomic_load(&wanted) != atomic_load(&served))
		writer_wake();
	return NULL;
}

/* ---- the sampler ---- */

static void *run_sampler(void *arg)
{
	(void)arg;
	crew_begins(CREW_SAMPLER);
	while (gate_cycle() && !atomic_load(&stopping) && crew_there(CREW_KEEPER)) {
		hooks.sample();
		sys_futex_wait(&stopping, 0, OPEN_WAIT);
	}
	crew_ends(CREW_SAMPLER);
	return NULL;
}

/* ---- the keeper ---- */

static void start_formatter(void)
{
	crew_start(CREW_FORMATTER, run_formatter);
}

/* Gives windows to the finisher or starts the formatter. Returns ns to the next look. */
static int64_t keep_windows(uint32_t seen)
{
	bool work = atomic_load(&looked) != seen;

	if (alone) {
		if (work && batch_sealed())
			crew_start(CREW_FORMATTER, run_formatter);
		else if (work)
			atomic_store(&looked, seen);
		return SECOND;
	}
	/* While there is a formatter it has the windows. */
	if (crew_there(CREW_FORMATTER))
		return OPEN_WAIT;
	atomic_store(&looked, seen);
	if (work)
		batch_hand_over();
	batch_collect();
	if (batch_forgotten(sys_clock_ns(CLOCK_MONOTONIC))) {
		atomic_store(&forgotten, true);
		crew_start(CREW_FORMATTER, run_formatter);
	}
	return batch_pending() ? OPEN_WAIT : SECOND;
}

/* Steps by the clock keep the keeper here: no other thread would end them. */
static bool has_nothing_to_do(void)
{
	return !gate_cycle() && !config_marker_is(settings, MARKER_BY_TIME) &&
	       !crew_there(CREW_FORMATTER) &&
	       (alone ? !batch_sealed() : !batch_pending());
}

static void keep_going(uint32_t seen)
{
	int64_t wait = ahead_time(atomic_load(&looked) != seen);
	int64_t other = ahead_memory(start_formatter);

	wait = other < wait ? other : wait;
	other = keep_windows(seen);
	wait = other < wait ? other : wait;
	other = hooks.tick ? hooks.tick() : SECOND;
	wait = other < wait ? other : wait;
	if (alone && hooks.sample && gate_cycle())
		crew_start(CREW_SAMPLER, run_sampler);
	/* Whoever seals a window need not wake a keeper that looks again soon anyway: a
	 * thread that wakes takes the program's processor for a while. */
	wait = wait < LOOK ? wait : LOOK;
	/* writer_pause sets `stopping` first: a keeper that read `wanted` after it had
	 * counted up would otherwise sleep. */
	if (atomic_load(&stopping))
		return;
	atomic_store(&sleeping, wait > OPEN_WAIT);
	sys_futex_wait(&wanted, seen, wait > 0 ? wait : 1);
	atomic_store(&sleeping, 0);
}

static void keep_until_done(void)
{
	int64_t busy = sys_clock_ns(CLOCK_MONOTONIC), now;
	uint32_t seen;

	do {
		seen = atomic_load(&wanted);
		keep_going(seen);
		now = sys_clock_ns(CLOCK_MONOTONIC);
		if (atomic_load(&wanted) != seen || !has_nothing_to_do())
			busy = now;
	} while (!atomic_load(&stopping) && now - busy < IDLE && !own_thread_alone());
}

static void *run_keeper(void *arg)
{
	uint32_t seen;

	(void)arg;
	do {
		crew_begins(CREW_KEEPER);
		keep_until_done();
		seen = atomic_load(&wanted);
		crew_ends(CREW_KEEPER);
		/* A request came before the keeper was gone, and started no other: it
		 * goes on itself. */
	} while (!own_thread_alone() && !atomic_load(&stopping) &&
		 atomic_load(&wanted) != seen && crew_returns(CREW_KEEPER));
	crew_last();
	return NULL;
}

/* ---- for the agent ---- */

int writer_start(const struct config *config, const struct writer_hooks *given)
{
	settings = config;
	hooks = *given;
	alone = hooks.alone;
	started = true;
	atomic_store(&stopping, 0);
	/* Steps by the clock need the keeper from the start. */
	if (config_marker_is(settings, MARKER_BY_TIME)) {
		writer_need();
		crew_start(CREW_KEEPER, run_keeper);
	}
	return 0;
}

void writer_need(void)
{
	atomic_store(&needed, 1);
}

static bool is_due(void)
{
	return atomic_load_explicit(&needed, memory_order_relaxed) ||
	       atomic_load_explicit(&spool.head->used, memory_order_relaxed) >=
		       SPOOL_HEADER + DUE;
}

/* A program of one thread has no keeper, unless a window waits to be handed over: with a
 * second thread the C library takes the locks of malloc and stdio, and never stops, so
 * that a handler that forks, or allocates, in the middle of malloc would wait for ever.
 * Such a thread makes its own memory ready. */
static bool has_one_thread(void)
{
	return !alone && !sys_confined && !batch_pending() &&
	       !atomic_load_explicit(&needed, memory_order_relaxed) &&
	       !spool_must_reserve(AHEAD_MOST) && own_thread_others() == 1;
}

/* 0; or why there is no keeper: none is due, the threads pause, or one cannot be made. */
static int wake_keeper(bool due)
{
	int saved = errno, err = 0;

	atomic_fetch_add(&wanted, 1);
	/* The keeper asks, too, and still has to leave: nothing is started or woken
	 * now. */
	if (atomic_load(&pausing)) {
		err = -EAGAIN;
	} else if (!crew_there(CREW_KEEPER)) {
		atomic_store(&stopping, 0);
		err = due ? crew_start(CREW_KEEPER, run_keeper) : -EAGAIN;
	} else if (atomic_load(&sleeping)) {
		sys_futex_wake(&wanted);
	}
	errno = saved;
	return err;
}

void writer_wake(void)
{
	if (started)
		wake_keeper(is_due() || (alone && batch_sealed()));
}

void writer_last(bool waits)
{
	if (waits)
		atomic_store(&waited_for, 1);
	else if (started && !crew_there(CREW_KEEPER) && has_one_thread())
		started = false;
}

/* Numbers of requests are compared by their difference, for they wrap around. */
bool writer_drain(int64_t ns)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + ns;
	uint32_t target, now;

	if (!started || !batch_sealed())
		return true;
	target = atomic_fetch_add(&wanted, 1) + 1;
	if (crew_start(CREW_FORMATTER, run_formatter))
		return false;
	while (now = atomic_load(&served), (int32_t)(now - target) < 0) {
		int64_t left = until - sys_clock_ns(CLOCK_MONOTONIC);

		if (left <= 0)
			return false;
		/* A formatter that was about to leave did not see this request: start
		 * another. */
		if (!crew_there(CREW_FORMATTER) &&
		    crew_start(CREW_FORMATTER, run_formatter))
			return false;
		sys_futex_wait(&served, now, left < LOOK ? left : LOOK);
	}
	return !batch_failed();
}

void writer_stop(void)
{
	writer_pause();
	stopped = started;
	started = false;
}

void writer_go_on(void)
{
	started = stopped;
	writer_resume();
}

void writer_forget(void)
{
	started = false;
	ahead_forget();
	atomic_store(&wanted, 0);
	atomic_store(&served, 0);
	atomic_store(&looked, 0);
	atomic_store(&sleeping, 0);
	atomic_store(&stopping, 0);
	atomic_store(&pausing, false);
	atomic_store(&forgotten, false);
	atomic_store(&waited_for, 0);
	atomic_store(&needed, 0);
	crew_forget();
	batch_forget();
}

/*
 * Python warns at a fork when the process has more than one thread, and counts them right
 * after it; unshare, setns and seccomp mean the calling thread alone. So the agent's
 * threads leave, unless a file is being written: that would take too long.
 */
bool writer_pause(void)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + PAUSE_NS;

	if (!started || crew_there(CREW_FORMATTER))
		return !crew_there(CREW_FORMATTER);
	atomic_store(&pausing, true);
	atomic_store(&paused_at, atomic_load(&wanted));
	if (crew_left())
		return true;
	atomic_store(&stopping, 1);
	atomic_store(&paused_at, atomic_fetch_add(&wanted, 1) + 1);
	spool_halt(true);
	sys_futex_wake(&wanted);
	sys_futex_wake(&stopping);
	while (!crew_left() && sys_clock_ns(CLOCK_MONOTONIC) < until)
		sys_nap(50000);
	spool_halt(false);
	return crew_left();
}

/* Starts no keeper, as Python counts threads after this. Whoever seals a window or
 * needs memory brings it back (writer_wanted); only steps by the clock, and a request
 * that came during the pause, cannot wait for that. */
bool writer_unpause(void)
{
	bool asked = atomic_exchange(&pausing, false) &&
		     atomic_load(&wanted) != atomic_load(&paused_at);

	return started && (asked || (atomic_load(&stopping) &&
				     config_marker_is(settings, MARKER_BY_TIME)));
}

void writer_resume(void)
{
	if (writer_unpause())
		writer_wake();
}

void writer_wanted(void)
{
	if (!started)
		return;
	if (crew_there(CREW_KEEPER)) {
		if (spool_low())
			sys_futex_wake(&wanted);
	} else if (is_due()) {
		if (has_one_thread())
			ahead_of_one();
		else
			wake_keeper(true);
	}
}
