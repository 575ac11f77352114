/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's threads, at most one of each kind: whoever needs one starts it, and it
 * counts as there until the kernel has no task of it any more. */
#include "writer/crew.h"
#include "agent/core/spool.h"
#include "base/own_thread.h"
#include "base/sys.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#define SECOND     1000000000ll
#define RETRY_MOST (64 * SECOND)

static struct {
	struct own_thread thread;
	_Atomic uint32_t tid; /* 0 = none, 1 = being born */
	_Atomic int64_t retry_ns, pause_ns; /* after a thread that could not be made */
} crew[CREW_ALL];

/* Puts off the next try; each failure doubles the wait, up to RETRY_MOST. */
static void put_off(enum crew who)
{
	int64_t pause = 2 * atomic_load(&crew[who].pause_ns);

	pause = pause < SECOND ? SECOND : pause < RETRY_MOST ? pause : RETRY_MOST;
	atomic_store(&crew[who].pause_ns, pause);
	atomic_store(&crew[who].retry_ns, sys_clock_ns(CLOCK_MONOTONIC) + pause);
}

int crew_start(enum crew who, void *(*run)(void *))
{
	struct own_thread *t = &crew[who].thread;
	uint32_t none = 0;
	int err;

	/* The caller runs in a raw clone of the process: locks of the C library may be
	 * held there for ever, and the spool is the parent's. */
	if (spool.head && spool.head->pid != sys_pid())
		return -EPERM;
	if (sys_clock_ns(CLOCK_MONOTONIC) < atomic_load(&crew[who].retry_ns))
		return -EAGAIN;
	if (!atomic_compare_exchange_strong(&crew[who].tid, &none, 1))
		return 0;
	t->files = who == CREW_KEEPER ? OWN_THREAD_NONE : OWN_THREAD_FILES;
	err = own_thread_start(t, run);
	if (err) {
		put_off(who);
		atomic_store(&crew[who].tid, 0);
	} else {
		atomic_store(&crew[who].pause_ns, 0);
	}
	return err;
}

uint32_t crew_there(enum crew who)
{
	return atomic_load(&crew[who].tid);
}

void crew_begins(enum crew who)
{
	atomic_store(&crew[who].tid, sys_tid());
}

void crew_ends(enum crew who)
{
	atomic_store(&crew[who].tid, 0);
}

bool crew_returns(enum crew who)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong(&crew[who].tid, &none, 1);
}

void crew_last(void)
{
	for (unsigned i = CREW_FORMATTER; i < CREW_ALL; i++)
		while (own_thread_alone() && !own_thread_left(&crew[i].thread))
			sys_nap(1000000);
}

bool crew_left(void)
{
	for (unsigned i = 0; i < CREW_ALL; i++)
		if (atomic_load(&crew[i].tid) || !own_thread_left(&crew[i].thread))
			return false;
	return true;
}

void crew_forget(void)
{
	for (unsigned i = 0; i < CREW_ALL; i++) {
		atomic_store(&crew[i].tid, 0);
		atomic_store(&crew[i].retry_ns, 0);
		atomic_store(&crew[i].pause_ns, 0);
	}
	own_thread_forget();
}
