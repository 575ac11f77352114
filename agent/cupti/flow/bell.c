/* SPDX-License-Identifier: Apache-2.0 */
/* What any thread may leave for the consumer, from within CUPTI's callbacks too: a word,
 * and a wake. */
#include "agent/cupti/flow/bell.h"
#include "base/sys.h"

#include <stdatomic.h>

/*
 * No ring is lost: a thread that rings counts up before it looks whether the consumer
 * sleeps, and the consumer says that it sleeps before the kernel compares the count with
 * what it had seen. Either the kernel finds another count and returns at once, or the
 * ringer finds a sleeper. Both sides need sequential consistency for that.
 */
static _Atomic uint32_t bell; /* counts rings */
static _Atomic uint32_t sleeping;
static _Atomic bool near, off;

void bell_wake(void)
{
	atomic_fetch_add(&bell, 1);
	if (atomic_load(&sleeping))
		sys_futex_wake(&bell);
}

uint32_t bell_seen(void)
{
	return atomic_load(&bell);
}

void bell_sleep(uint32_t seen, int64_t ns)
{
	atomic_store(&sleeping, 1);
	sys_futex_wait(&bell, seen, ns);
	atomic_store(&sleeping, 0);
}

void bell_near(bool is)
{
	atomic_store(&near, is);
}

void bell_off(bool is)
{
	atomic_store(&off, is);
}

bool bell_is_off(void)
{
	return atomic_load(&off);
}

bool bell_wants(bool window)
{
	return !atomic_load(&off) && (window || atomic_load(&near));
}

void bell_fork_child(void)
{
	atomic_store(&bell, 0);
	atomic_store(&sleeping, 0);
	atomic_store(&near, false);
}
