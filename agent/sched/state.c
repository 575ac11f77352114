/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's state and its lock: held for a gate change, never across anything slow.
 */
#include "agent/sched/state.h"
#include "base/sys.h"

#include <sched.h>

#define SPINS     64
#define NAPS_FROM 4096 /* looks at the lock before we sleep in between ... */
#define NAPS      500
#define NAP_NS    100000

struct sched_state sched;
static __thread bool inside __attribute__((tls_model("initial-exec")));

bool sched_lock(void)
{
	if (inside)
		return false; /* a signal handler in the middle of a boundary */
	for (unsigned spins = 1;
	     atomic_exchange_explicit(&sched.lock, 1, memory_order_acquire); spins++)
		if (spins > NAPS_FROM + NAPS) /* its holder gets no processor */
			return false;
		else if (spins > NAPS_FROM) /* nor by yielding, below a realtime thread */
			sys_nap(NAP_NS);
		else if (spins % SPINS == 0)
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

bool sched_locked(void)
{
	return inside;
}

void sched_lock_forget(void)
{
	inside = false;
	atomic_store(&sched.lock, 0);
}
