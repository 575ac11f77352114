/* SPDX-License-Identifier: Apache-2.0 */
/* The one thread that makes each call of CUPTI's that may wait. */
#include "agent/cupti/flow/consumer.h"
#include "agent/core/clock.h"

#include "agent/cupti/flow/bell.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/flow/correlation.h"
#include "agent/cupti/flow/decode_calls.h"
#include "agent/cupti/flow/orders.h"
#include "agent/cupti/flow/round.h"
#include "agent/cupti/lib/devices.h"
#include "agent/cupti/lib/facts.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/session.h"
#include "base/own_thread.h"
#include "base/sys.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

/*
 * The one thread that waits for CUPTI: it switches kinds, flushes, reads what comes
 * back and settles windows. The program's threads only leave word and ring.
 */
#define OPEN_NS    500000000ll /* between flushes in an open window */
#define FIRST_NS   4000000ll /* after a seal, doubling ... */
#define LONGEST_NS 500000000ll /* ... up to this */
#define WAITING_NS 2000000000ll /* GPU work waits so long for its call */
#define FINAL_NS   1000000000ll /* at the end, for work that still runs */
#define LATE_NS    100000000ll /* for buffers that come after the last flush */
#define LOOK_NS    1000000ll
#define RETURN_NS  1000000000ll /* between looks whether another profiler is gone */

static _Atomic uint32_t tid; /* 0 = none, 1 = being born */
/* Questions are numbered: a thread that asks waits until the number that is done has
 * reached its own, so that one answer serves all that came before it. */
static _Atomic uint32_t flush_asked, flush_done;
static _Atomic uint32_t end_asked, end_done; /* 1: everything fetched, 2: and settled */

static int64_t flush_at, flush_gap; /* CLOCK_MONOTONIC ns; ns */
static bool ended; /* the last flush is done */

static bool (*take_again)(void);
static bool (*is_shared)(void);

/* ---- what is to be done ---- */

static bool is_recording(void)
{
	return atomic_load(&session.state) == SESSION_READY && !ended;
}

/* Another profiler has had CUPTI: now that a window is there, is CUPTI free again? */
static void return_to_cupti(void)
{
	static int64_t next;

	if (atomic_load(&session.state) != SESSION_ASIDE || ended || windows_now < next)
		return;
	round_leave();
	if (take_again())
		next = windows_now + RETURN_NS;
}

static bool follow_kinds(void)
{
	bool want = bell_wants(windows_fresh());
	bool on = kinds_ours_on();

	if (want)
		return_to_cupti();
	if (!round_enter())
		return false;
	if (!is_recording())
		return true;
	if (want == on)
		return true;
	/* Some versions of CUPTI are dead after a first time on without any record. */
	if (!want && session.deny & DENY_EMPTY && !decode_records)
		return true;
	return round_kinds(want);
}

/*
 * Where kernels stay on without us, a GPU that is never idle holds a window's work back
 * until its buffer is full. Before the window is given up the buffer is had by force:
 * work that runs now is in no window, and must not be a client's.
 */
static bool force_overdue(void)
{
	unsigned deny = session.deny & (DENY_KERNELS_OFF | DENY_FLUSH);

	if (!is_recording() || deny != DENY_KERNELS_OFF || !windows_overdue() ||
	    windows_fresh() || is_shared())
		return true;
	if (round_fetch(1) < 0)
		return false;
	round_drain();
	return true;
}

/* Is a flush allowed? With DENY_FLUSH only when a window is sealed, not merely open. */
static bool may_fetch(unsigned pending, bool open)
{
	return is_recording() && (pending > open || !(session.deny & DENY_FLUSH));
}

static bool flush_due(unsigned pending, bool open)
{
	uint32_t asked = atomic_load(&flush_asked);
	bool called = asked != atomic_load(&flush_done);
	bool fine = true;

	if (!may_fetch(pending, open)) {
		flush_at = windows_now + OPEN_NS;
		atomic_store(&flush_done, asked);
		if (called)
			sys_futex_wake(&flush_done);
		return true;
	}
	if (!called && (!pending || windows_now < flush_at))
		return true;
	fine = round_flush() && force_overdue();
	flush_at = windows_now + (open ? OPEN_NS : flush_gap);
	if (!open)
		flush_gap = flush_gap * 2 < LONGEST_NS ? flush_gap * 2 : LONGEST_NS;
	if (called) {
		atomic_store(&flush_done, asked);
		sys_futex_wake(&flush_done);
	}
	return fine;
}

/* The process ends. What runs still may end in time; then all is taken as it is. */
static bool fetch_all(void)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + FINAL_NS;

	if (ended || !is_recording() || !(buffers_held(UINT64_MAX) || buffers_refused()))
		goto done;
	do {
		if (!round_flush())
			return false;
		if (!is_recording() || windows_complete())
			break;
		sys_nap(LOOK_NS);
	} while (windows_now < until);
	/* By force CUPTI also gives back buffers in which work still runs, without its
	 * end: nothing comes later, so that is better than the buffer's loss. */
	if (is_recording() && buffers_held(UINT64_MAX) && round_fetch(1) < 0)
		return false;
	until = windows_now + LATE_NS;
	for (round_drain(); buffers_held(UINT64_MAX) && windows_now < until;
	     round_drain())
		sys_nap(LOOK_NS);
	if (is_recording())
		round_drops();
done:
	ended = true;
	return true;
}

/* Counts what fell into windows of a gap, in which another profiler had CUPTI or kinds
 * were not on yet. */
static void count_gap(bool last)
{
	uint64_t from, to;

	if (session_gap(last, &from, &to))
		windows_gap(from, to);
}

/* GPU work waits for its call no longer, and no window waits for GPU work. */
static void settle_all(void)
{
	correlation_expire(0);
	windows_collect();
	count_gap(true);
	windows_end();
}

static bool end_if_asked(void)
{
	uint32_t asked = atomic_load(&end_asked);

	if (asked == atomic_load(&end_done))
		return true;
	if (!fetch_all())
		return false;
	if (asked > 1)
		settle_all();
	else
		correlation_expire(0);
	atomic_store(&end_done, asked);
	sys_futex_wake(&end_done);
	return true;
}

/* `gone`: CUPTI was gone before we read what had come back, so that nothing is missing in
 * the windows that end without CUPTI. */
static void settle_windows(bool gone)
{
	unsigned pending;
	bool open;

	windows_collect();
	pending = windows_pending(&open);
	count_gap(!pending || pending > open);
	windows_settle(ended || (gone && session_gone()), correlation_waits);
}

/* Returns ns to wait, -1 = until called, -2 = another thread has taken over. */
static int64_t work_once(void)
{
	static unsigned sealed_before;
	bool open, gone = session_gone();
	unsigned pending, sealed;

	round_drain();
	correlation_expire(WAITING_NS);
	pending = windows_pending(&open);
	sealed = pending - open;
	if (sealed > sealed_before) { /* a window was sealed: look closely again */
		flush_at = windows_now;
		flush_gap = FIRST_NS;
	}
	if (!follow_kinds() || !flush_due(pending, open) || !end_if_asked())
		return -2;
	settle_windows(gone);
	pending = windows_pending(&open);
	sealed_before = pending - open;
	if (!pending && !follow_kinds())
		return -2;
	if (buffers_prepare())
		return 1;
	if (pending && !gone && session_gone())
		return 1;
	if (pending && atomic_load(&session.state) == SESSION_ASIDE && !ended)
		return RETURN_NS;
	if (!pending || !is_recording())
		return -1;
	return flush_at > windows_now ? flush_at - windows_now : 1;
}

static void *run_consumer(void *arg)
{
	int64_t wait = 0;

	(void)arg;
	prctl(PR_SET_NAME, "proflaunch-gpu", 0, 0, 0);
	atomic_store(&tid, sys_tid());
	round_consumer(sys_tid());
	facts_ask_runtime();
	while (wait > -2) {
		/* Read first: a ring that comes while we work must end the sleep that
		 * follows. */
		uint32_t seen = bell_seen();

		wait = round_enter() ? work_once() : -2;
		round_leave();
		if (wait == -2)
			break;
		bell_sleep(seen, wait);
	}
	return NULL;
}

/* ---- for the others ---- */

void consumer_above(bool (*again)(void), bool (*shared)(void))
{
	take_again = again;
	is_shared = shared;
}

bool consumer_ends(void)
{
	return atomic_load(&end_asked);
}

bool consumer_start(void)
{
	static struct own_thread thread;
	uint32_t none = 0;
	int saved = errno;

	if (!atomic_compare_exchange_strong(&tid, &none, 1))
		return true;
	buffers_wake = bell_wake;
	if (own_thread_start(&thread, run_consumer)) {
		atomic_store(&tid, 0);
		errno = saved;
		return false;
	}
	orders_live();
	errno = saved;
	return true;
}

/* Compares by the difference, because the numbers wrap. False: not within `ns`. */
static bool wait_for(_Atomic uint32_t *done, uint32_t level, int64_t ns)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + ns, left = ns;
	uint32_t now;

	while (now = atomic_load(done), (int32_t)(now - level) < 0 && left > 0) {
		sys_futex_wait(done, now, left);
		left = until - sys_clock_ns(CLOCK_MONOTONIC);
	}
	return (int32_t)(now - level) >= 0;
}

void consumer_flush(int64_t ns)
{
	uint32_t level;

	if ((!kinds_ours_on() && !buffers_held(UINT64_MAX)) || atomic_load(&tid) <= 1 ||
	    atomic_load(&tid) == sys_tid() || round_taken())
		return;
	level = atomic_fetch_add(&flush_asked, 1) + 1;
	bell_wake();
	wait_for(&flush_done, level, ns);
}

/* The consumer's thread is stuck in CUPTI, or has had no processor: the caller's thread
 * does here what that one would do with what came back and with the windows. The first
 * caller does so, before CUDA takes itself down and names with it. */
static void take_over(bool settle)
{
	devices_mute();
	if (!round_take())
		return;
	round_drain();
	if (settle)
		settle_all();
	round_give();
}

bool consumer_finish(int64_t ns, bool settle)
{
	uint32_t level = settle ? 2 : 1;

	/* Stored first: a window that opens from here on must not start a consumer. */
	if (atomic_load(&end_asked) < level)
		atomic_store(&end_asked, level);
	if (!atomic_load(&tid) || atomic_load(&tid) == sys_tid())
		return true;
	bell_wake();
	if (!round_taken() && wait_for(&end_done, level, ns))
		return true;
	take_over(settle);
	return false;
}

void consumer_fork_child(void)
{
	bell_fork_child();
	atomic_store(&tid, 0);
	atomic_store(&flush_asked, 0);
	atomic_store(&flush_done, 0);
	atomic_store(&end_asked, 0);
	atomic_store(&end_done, 0);
	round_fork_child();
	flush_at = flush_gap = 0;
	ended = false;
}
