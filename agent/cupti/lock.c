/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/sys.h"
#include "agent/cupti/parts.h"

#define MOST_NS 2000000000ll
#define LOOK_NS 1000000ll

bool lock_take(_Atomic uint32_t *lock)
{
	int64_t until = 0, now;
	uint32_t idle = 0;

	while (!atomic_compare_exchange_strong(lock, &idle, 1)) {
		now = clock_get_ns(CLOCK_MONOTONIC);
		until = until ? until : now + MOST_NS;
		if (now > until)
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
