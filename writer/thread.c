/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/log.h"
#include "agent/core/own_thread.h"
#include "agent/core/spool.h"
#include "agent/core/sys.h"
#include "writer/batch.h"
#include "writer/command.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/*
 * Two threads: the keeper keeps memory ready ahead of the program, and time; it runs
 * at normal priority. The formatter makes files; it runs at the lowest, which a thread
 * cannot leave again without privilege, and only lives while there is something to do.
 * Where the program waits for it at its end, it has the program's priority: what else
 * the machine does would keep both waiting.
 */
#define AHEAD_LEAST (1ull << 20) /* touched while idle ... */
#define AHEAD_OPEN  (4ull << 20) /* ... in a window ... */
#define AHEAD_MOST  (32ull << 20) /* ... and for a program in a hurry */
#define SECOND      1000000000ll
#define OPEN_WAIT   20000000ll /* ns between looks at a window's memory */
#define FIRST_GAP   1000000ll /* ns between moments of the clock, doubling */
#define LEAST_GAP   100000000ll
#define PAUSE_TRIES 200 /* of 50 us: how long a fork waits for us to go */

static struct config settings;
static struct writer_hooks hooks;

static _Atomic uint32_t wanted; /* counts what is asked of us; the keeper sleeps on it */
static _Atomic uint32_t served; /* `wanted` when all that was sealed had been written */
static _Atomic uint32_t looked; /* `wanted` the formatter has begun with */
static _Atomic uint32_t sleeping;
static _Atomic uint32_t stopping;
static _Atomic uint32_t waited_for; /* the program ends, and waits for the formatter */
static _Atomic uint32_t keeper, formatter; /* OS thread ids; 0 = none, 1 = being born */
static bool started, refused;
static uint64_t last_used; /* bytes handed out when the keeper last looked; 0 = never */

/* ---- threads of ours ---- */

static int spawn(void *(*run)(void *), _Atomic uint32_t *who)
{
	static struct own_thread threads[2];
	uint32_t none = 0;
	int err;

	/* A raw clone of the process: locks of the C library may be held there for ever,
	 * and the spool is its parent's. */
	if (spool.head && spool.head->pid != sys_pid())
		return 0;
	if (!atomic_compare_exchange_strong(who, &none, 1))
		return 0;
	err = own_thread_start(&threads[who == &formatter], run);
	if (err)
		atomic_store(who, 0);
	return err;
}

/* ---- the formatter ---- */

static void file_is_done(const char *path)
{
	if (settings.on_trace[0])
		command_run(settings.on_trace, path);
}

static void *format(void *arg)
{
	bool low = !atomic_load(&waited_for);
	uint32_t now;

	(void)arg;
	atomic_store(&formatter, sys_tid());
	if (low)
		setpriority(PRIO_PROCESS, sys_tid(), 19);
	do {
		now = atomic_load(&wanted);
		atomic_store(&looked, now);
		while (batch_write(&settings, file_is_done) && !batch_failed())
			;
		atomic_store(&served, now);
		sys_futex_wake(&served);
	} while (atomic_load(&wanted) != now && !(low && atomic_load(&waited_for)));
	atomic_store(&formatter, 0);
	/* What came in between must not wait for the keeper's next look. */
	if (atomic_load(&wanted) != now)
		writer_wake();
	return NULL;
}

/* ---- the keeper ---- */

/* As far ahead as the program may come before we look again. */
static int64_t keep_memory(void)
{
	uint64_t used = atomic_load(&spool.head->used), ahead = AHEAD_LEAST;
	uint64_t grown = last_used && used > last_used ? used - last_used : 0;
	bool open = gate_cycle() != 0;
	int err;

	last_used = used;
	if (open || grown)
		ahead = 8 * grown > AHEAD_OPEN ? 8 * grown : AHEAD_OPEN;
	err = spool_prepare(ahead < AHEAD_MOST ? ahead : AHEAD_MOST);
	if (err && !refused) {
		refused = true;
		log_warn("no space for more than %lu MiB of records: %s",
			 (unsigned long)(atomic_load(&spool.head->reserved) >> 20),
			 sys_error(err));
	}
	return open ? OPEN_WAIT : SECOND;
}

/* Closely at first, so that a program that dies at once has two moments far enough
 * apart, then each second; and before a window is written. Returns ns to the next. */
static int64_t keep_time(bool now_please)
{
	static int64_t last, gap = FIRST_GAP;
	int64_t now = clock_get_ns(CLOCK_MONOTONIC);

	if (now - last >= gap || (now_please && now - last >= LEAST_GAP)) {
		clock_sample(spool.head);
		last = now;
		gap = gap * 2 < SECOND ? gap * 2 : SECOND;
	}
	return last + gap - now;
}

static void keep_going(void)
{
	uint32_t seen = atomic_load(&wanted);
	bool work = atomic_load(&looked) != seen;
	int64_t wait = keep_time(work), other = keep_memory();

	wait = other < wait ? other : wait;
	other = hooks.tick ? hooks.tick() : SECOND;
	wait = other < wait ? other : wait;
	if (work)
		spawn(format, &formatter);
	/* Whoever seals a window need not wake us where we look again at once: a thread
	 * that wakes takes the program's processor for a while. */
	atomic_store(&sleeping, wait > OPEN_WAIT);
	sys_futex_wait(&wanted, seen, wait > 0 ? wait : 1);
	atomic_store(&sleeping, 0);
}

static void *keep(void *arg)
{
	uint32_t none;

	(void)arg;
	do {
		atomic_store(&keeper, sys_tid());
		while (!atomic_load(&stopping))
			keep_going();
		atomic_store(&keeper, 0);
		/* Called back before we were gone: then we are who answers. */
		none = 0;
	} while (!atomic_load(&stopping) &&
		 atomic_compare_exchange_strong(&keeper, &none, 1));
	return NULL;
}

/* ---- for the agent ---- */

int writer_start(const struct config *config, const struct writer_hooks *given)
{
	settings = *config;
	hooks = *given;
	clock_sample(spool.head);
	if (settings.on_trace[0])
		command_start(environ);
	started = true;
	atomic_store(&stopping, 0);
	/* A process that records nothing never has a thread of ours (unshare -U refuses
	 * those that have several); only steps by the clock need it from the start. */
	return strncmp(settings.marker, "time:", 5) ? 0 : spawn(keep, &keeper);
}

void writer_wake(void)
{
	int saved = errno;

	if (!started)
		return;
	atomic_fetch_add(&wanted, 1);
	atomic_store(&stopping, 0);
	if (!atomic_load(&keeper))
		spawn(keep, &keeper);
	else if (atomic_load(&sleeping))
		sys_futex_wake(&wanted);
	errno = saved;
}

void writer_hurry(void)
{
	atomic_store(&waited_for, 1);
}

bool writer_drain(int64_t ns)
{
	int64_t until = clock_get_ns(CLOCK_MONOTONIC) + ns;
	uint32_t target, now;

	if (!started)
		return true;
	writer_wake();
	target = atomic_load(&wanted);
	while (now = atomic_load(&served), (int32_t)(now - target) < 0) {
		int64_t left = until - clock_get_ns(CLOCK_MONOTONIC);

		if (left <= 0)
			return false;
		sys_futex_wait(&served, now, left);
	}
	return !batch_failed();
}

void writer_forget(void)
{
	started = refused = false;
	last_used = 0;
	atomic_store(&wanted, 0);
	atomic_store(&served, 0);
	atomic_store(&looked, 0);
	atomic_store(&sleeping, 0);
	atomic_store(&stopping, 0);
	atomic_store(&waited_for, 0);
	atomic_store(&keeper, 0);
	atomic_store(&formatter, 0);
	batch_forget();
}

/*
 * Python warns at a fork when the process has more than one thread, and counts them
 * right after it. So the keeper leaves, unless a file is being written: that would
 * take too long.
 */
void writer_pause(void)
{
	uint32_t tid = atomic_load(&keeper);
	int saved = errno;

	if (!started || tid <= 1 || atomic_load(&formatter))
		return;
	atomic_store(&stopping, 1);
	atomic_fetch_add(&wanted, 1);
	sys_futex_wake(&wanted);
	for (unsigned i = 0; i < PAUSE_TRIES && !own_thread_gone(tid); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
	errno = saved;
}

/* Not yet: the count comes after this. Whoever seals a window or needs memory brings it
 * back (writer_wanted); only steps by the clock cannot wait for that. */
void writer_resume(void)
{
	if (started && atomic_load(&stopping) && !strncmp(settings.marker, "time:", 5))
		writer_wake();
}

void writer_wanted(void)
{
	if (!started)
		return;
	if (!atomic_load(&keeper))
		writer_wake();
	else if (spool_low())
		sys_futex_wake(&wanted);
}
