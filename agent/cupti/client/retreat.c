/* SPDX-License-Identifier: Apache-2.0 */
/* Stepping aside: CUPTI is left to a profiler that cannot share it, and for how long. */
#include "agent/cupti/client/retreat.h"
#include "agent/cupti/client/copies.h"
#include "agent/cupti/flow/bell.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/session.h"
#include "base/log.h"
#include "base/sys.h"

#define ITS_TURN_NS 2000000000ll /* a client that asked for a function will call it */

static _Atomic uint32_t blocking; /* contexts or kinds that need CUPTI for themselves */
static _Atomic int64_t its_turn; /* CLOCK_MONOTONIC ns: until then a client's turn */

bool retreat_blocked(void)
{
	int64_t until = atomic_load(&its_turn);

	return atomic_load(&blocking) || atomic_load(&client.own_clock) ||
	       (until && sys_clock_ns(CLOCK_MONOTONIC) < until);
}

void retreat_unsubscribe(void)
{
	if (session.subscriber && session.subscriber != client.handle)
		cupti.Unsubscribe(session.subscriber);
	session.subscriber = NULL;
}

/* One thread gets true: between this and hand_over_cupti the state is LEAVING, in which
 * nothing of ours is switched on and windows still wait for what comes back. */
static bool leave_cupti(const char *who)
{
	uint32_t ready = SESSION_READY;

	if (!atomic_compare_exchange_strong(&session.state, &ready, SESSION_LEAVING))
		return false;
	session_gap_begins(0);
	atomic_store(&session.missing, false); /* from here on the gap is theirs */
	kinds_ours(false);
	session_flush(0);
	retreat_unsubscribe();
	log_note("%s records the GPU now: our traces have a gap", who);
	return true;
}

static void hand_over_cupti(void)
{
	uint32_t leaving = SESSION_LEAVING;

	atomic_compare_exchange_strong(&session.state, &leaving, SESSION_ASIDE);
	bell_wake();
}

bool retreat_step(const char *who)
{
	bool left = leave_cupti(who);

	if (left)
		hand_over_cupti();
	return left;
}

bool retreat_still_out(uint64_t turn)
{
	for (int i = 0; i < 5 && buffers_held(turn); i++)
		sys_nap(1000000);
	return buffers_held(turn);
}

/* CUPTI is the client's from here on: what it has on stays on, its own callbacks are
 * registered, and a subscription that serves both becomes its own. First all that lies in
 * our buffers comes back, because the client would not know them. */
void retreat_for_client(const char *who)
{
	cupti_requested requested;
	cupti_completed completed;
	uint64_t turn = buffers_turn();
	bool left;

	if (atomic_load(&client.callback) && !client.handle)
		client.handle = session.subscriber;
	left = leave_cupti(who);
	if (copies_callbacks(&requested, &completed)) {
		if (retreat_still_out(turn))
			session_flush(1);
		copies_deliver();
		cupti.ActivityRegisterCallbacks(requested, completed);
	}
	if (left)
		hand_over_cupti();
}

void retreat_block(bool on)
{
	uint32_t n = atomic_load(&blocking);

	if (on) {
		atomic_fetch_add(&blocking, 1);
		return;
	}
	while (n && !atomic_compare_exchange_weak(&blocking, &n, n - 1))
		;
	if (n == 1)
		bell_wake(); /* we may come back */
}

void retreat_second_interface(void)
{
	uint32_t state = atomic_load(&session.state);

	if (state != SESSION_READY && state != SESSION_LEAVING && state != SESSION_ASIDE)
		return;
	atomic_store(&its_turn, sys_clock_ns(CLOCK_MONOTONIC) + ITS_TURN_NS);
	if (state == SESSION_READY)
		retreat_for_client("a profiler on CUPTI's second interface");
}

void retreat_keep(void)
{
	atomic_store(&blocking, 1);
}
