/* SPDX-License-Identifier: Apache-2.0 */
/* Whether CUPTI is ours, which one it is, and since when it was not. */
#include "agent/cupti/lib/session.h"
#include "agent/core/clock.h"
#include "agent/cupti/lib/lock.h"
#include "base/seldom.h"

SELDOM struct session session;

static _Atomic uint32_t flushing;
static _Atomic uint64_t gap_from; /* ns: the gap's begin; 0 = no gap */
static _Atomic uint64_t gap_to; /* ns: the gap's end; 0 = not yet, or counted */

const struct config *session_config(void)
{
	static const struct config all_off;

	return session.config ? session.config : &all_off;
}

bool session_gone(void)
{
	uint32_t state = atomic_load(&session.state);

	return state == SESSION_NONE || state == SESSION_ASIDE || state == SESSION_DEAD;
}

/* ---- gaps ---- */

void session_gap_begins(int64_t ago)
{
	uint64_t none = 0;

	/* A gap that lasts, or ended and was not counted yet, goes on. */
	atomic_store(&gap_to, 0);
	atomic_compare_exchange_strong(&gap_from, &none,
				       (uint64_t)(sys_clock_ns(CLOCK_REALTIME) - ago));
}

void session_gap_ends(void)
{
	atomic_store(&gap_to, (uint64_t)sys_clock_ns(CLOCK_REALTIME));
}

bool session_gap(bool last, uint64_t *from, uint64_t *to)
{
	uint64_t begun = atomic_load(&gap_from);
	bool over;

	if (!begun)
		return false;
	*from = begun;
	*to = atomic_exchange(&gap_to, 0);
	over = *to;
	if (!over && last &&
	    (atomic_load(&session.missing) ||
	     atomic_load(&session.state) == SESSION_ASIDE))
		*to = (uint64_t)sys_clock_ns(CLOCK_REALTIME);
	if (!*to)
		return false;
	/* Another gap may have begun just now. */
	atomic_compare_exchange_strong(&gap_from, &begun, over ? 0 : *to);
	return true;
}

/* ---- flush and fork ---- */

int session_flush(uint32_t flag)
{
	bool taken = lock_take(&flushing);
	int result = cupti.ActivityFlushAll(flag);

	lock_give(&flushing, taken);
	return result;
}

void session_fork_child(void)
{
	uint32_t state = atomic_load(&session.state);

	atomic_store(&flushing, 0);
	atomic_store(&gap_from, 0);
	atomic_store(&gap_to, 0);
	atomic_store(&session.missing, false);
	session.subscriber = NULL;
	/* CUDA does not survive a fork: in the child of a process that used it there is
	 * none. */
	atomic_store(&session.state, state == SESSION_NONE ? SESSION_NONE : SESSION_DEAD);
}
