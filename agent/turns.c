/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/turns.h"

#include "base/sys.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#define NAP     20000 /* ns */
#define LONGEST 50000000ll /* ns, for another thread's turn */
#define DEAD    20 /* times as long */

static _Atomic bool taken;
static _Atomic uint32_t locks; /* of the program's, on their way */

bool turns_take(void)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + LONGEST;

	while (atomic_exchange(&taken, true)) {
		if (sys_clock_ns(CLOCK_MONOTONIC) > until)
			return false;
		sys_nap(NAP);
	}
	return true;
}

void turns_give(void)
{
	atomic_store(&taken, false);
}

void turns_take_at_last(void)
{
	for (unsigned i = 0; i < DEAD && !turns_take(); i++)
		;
}

/* Who locks says so before it waits for its turn: so one of the two sees the other. */
bool turns_take_unlocked(void)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + LONGEST;

	while (turns_take()) {
		if (!turns_locks() || sys_clock_ns(CLOCK_MONOTONIC) > until)
			return true;
		turns_give();
		sys_nap(NAP);
	}
	return false;
}

void turns_lock(void)
{
	atomic_fetch_add(&locks, 1);
}

void turns_locked(void)
{
	atomic_fetch_sub(&locks, 1);
}

bool turns_locks(void)
{
	return atomic_load(&locks);
}

void turns_fork_child(void)
{
	atomic_store(&taken, false);
	atomic_store(&locks, 0);
}
