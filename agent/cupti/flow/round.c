/* SPDX-License-Identifier: Apache-2.0 */
/* One round of the consumer: kinds, flush, buffers, windows. */
#include "agent/cupti/flow/round.h"

#include "agent/cupti/flow/bell.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/flow/decode_calls.h"
#include "agent/cupti/flow/orders.h"
#include "agent/cupti/flow/windows.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/say.h"
#include "agent/cupti/lib/session.h"
#include "base/sys.h"

/* The steps of the consumer's work; in those that call CUPTI, CUPTI may keep the consumer
 * for good. */
static _Atomic bool dead; /* another thread finishes the consumer's work */
static _Atomic bool inside; /* at work on records and windows, not in CUPTI */
static _Atomic bool taking; /* a thread of the program is at work instead */
static _Atomic uint32_t
	consumer_tid; /* the consumer: what it asks of CUDA is in no window */

static void (*tell_flushed)(void);
static uint64_t (*tell_dropped)(uint64_t n);

void round_start(void (*flushed)(void), uint64_t (*dropped)(uint64_t n))
{
	tell_flushed = flushed;
	tell_dropped = dropped;
}

void round_consumer(uint32_t tid)
{
	atomic_store(&consumer_tid, tid);
}

uint32_t round_thread(void)
{
	return atomic_load(&consumer_tid);
}

/* ---- in and out of CUPTI, where we may get stuck ---- */

/* False: another thread has taken over the consumer's work. */
bool round_enter(void)
{
	atomic_store(&inside, true);
	if (!atomic_load(&dead))
		return true;
	atomic_store(&inside, false);
	return false;
}

void round_leave(void)
{
	atomic_store(&inside, false);
}

int round_fetch(uint32_t flag)
{
	int result;

	round_leave();
	result = session_flush(flag);
	tell_flushed();
	return round_enter() ? result : -1;
}

static bool window_wants(void)
{
	return bell_wants(orders_left());
}

bool round_kinds(bool on)
{
	int result;

	round_leave();
	result = on || bell_is_off() ? kinds_ours(on) : kinds_rest(window_wants);
	if (result && on) {
		atomic_store(&session.refused, true);
		say_give_up(kinds_failed(), result);
		bell_wake();
	}
	return round_enter();
}

/* ---- records ---- */

/* Takes buffers first and orders second: so the window of each record is known. */
void round_drain(void)
{
	struct buffer *b = buffers_take(), *after;

	windows_collect();
	for (; b; b = after) {
		after = b->next;
		/* Kernels without their calls, and the user was told that there is no GPU
		 * part: they are dropped. */
		if (atomic_load(&session.refused))
			(void)0;
		else if (b->discard)
			windows_count(CUDA_DISCARDED, decode_count(b->mem, b->valid));
		else
			decode_buffer(b->mem, b->valid, round_thread());
		buffers_give(b);
	}
}

void round_drops(void)
{
	uint64_t refused = buffers_refused();
	size_t dropped = 0;

	/* Without a context the call succeeds and leaves the number as it was. Where it
	 * fails, the refused buffers stay the only sign of what was dropped. */
	if (cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped))
		dropped = 0;
	else
		buffers_told(refused);
	windows_count(CUDA_DROPPED, dropped + tell_dropped(dropped));
}

bool round_flush(void)
{
	int result = 0;

	windows_flush();
	if (buffers_held(UINT64_MAX) && (result = round_fetch(0)) < 0)
		return false;
	round_drain();
	windows_moment();
	if (result) {
		say_give_up("cuptiActivityFlushAll", result);
		bell_wake();
		return true;
	}
	round_drops();
	windows_flushed();
	return true;
}

/* ---- for who takes over ---- */

/* The consumer may be between CUPTI and its records just now, and two threads may end the
 * process: the thread at work has 100 ms to finish, because windows must not be settled
 * by two. */
bool round_take(void)
{
	atomic_store(&dead, true);
	for (int i = 0; i < 100; i++) {
		bool none = false;

		if (!atomic_load(&inside) &&
		    atomic_compare_exchange_strong(&taking, &none, true))
			return true;
		sys_nap(1000000);
	}
	return false;
}

void round_give(void)
{
	atomic_store(&taking, false);
}

bool round_taken(void)
{
	return atomic_load(&dead);
}

void round_fork_child(void)
{
	atomic_store(&dead, false);
	atomic_store(&inside, false);
	atomic_store(&taking, false);
	atomic_store(&consumer_tid, 0);
}
