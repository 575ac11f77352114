/* SPDX-License-Identifier: Apache-2.0 */
/* The lock between the consumer and callers; nobody waits for ever. */
#include "agent/cupti/lib/lock.h"
#include "base/sys.h"

#define MOST_NS 2000000000ll /* then a thread goes on without the lock */
#define LOOK_NS 1000000ll

bool lock_take(_Atomic uint32_t *lock)
{
	return lock_take_for(lock, MOST_NS);
}

bool lock_take_for(_Atomic uint32_t *lock, int64_t ns)
{
	int64_t until = 0, now;
	uint32_t idle = 0;

	while (!atomic_compare_exchange_strong(lock, &idle, 1)) {
		now = sys_clock_ns(CLOCK_MONOTONIC);
		until = until ? until : now + ns;
		if (now >= until)
			return false;
		sys_futex_wait(lock, 1, LOOK_NS);
		idle = 0;
	}
	return true;
}

void lock_give(_Atomic uint32_t *lock, bool taken)
{
	if (!taken)
		return;
	atomic_store(lock, 0);
	sys_futex_wake(lock);
}
