/* SPDX-License-Identifier: Apache-2.0 */
/* Activity kinds and callbacks, switched here alone. */
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/calls.h"
#include "agent/cupti/lib/facts.h"
#include "agent/cupti/lib/layout.h"
#include "agent/cupti/lib/lock.h"
#include "agent/cupti/lib/say.h"
#include "agent/cupti/lib/session.h"

#include <string.h>

/*
 * What is switched on in CUPTI is what we want and what a client of the same CUPTI
 * wants, together. Of calls we ask for single ones where CUPTI can do that (12.5): a
 * program makes fifteen for each launch, and most only ask something.
 */
static _Atomic uint32_t lock;
static _Atomic uint64_t theirs; /* kinds, as bits */
static _Atomic bool ours_on;
static uint64_t really; /* kinds that are switched on as a whole */
static _Atomic(const char *) failed; /* function that gave the last error that counts */
static bool listed[2]; /* our list of calls is switched on: driver, runtime */
static struct calls_set theirs_on[2], theirs_off[2];

#define BIT(kind)        (1ull << (kind))
#define PROGRAM_WAITS_NS 100000000ll

/* ---- what we want ---- */

void kinds_start(void)
{
	const struct config *c = session_config();
	uint64_t all = BIT(KIND_CONCURRENT_KERNEL) | BIT(KIND_MEMCPY) |
		       BIT(KIND_MEMCPY2) | BIT(KIND_MEMSET) | BIT(KIND_RUNTIME) |
		       BIT(KIND_DRIVER) | BIT(KIND_OVERHEAD) | BIT(KIND_DEVICE);

	if (c->cuda_sync)
		all |= BIT(KIND_SYNCHRONIZATION) | BIT(KIND_CUDA_EVENT);
	if (c->cuda_memory)
		all |= BIT(KIND_MEMORY2);
	/* Asking for whole graphs also keeps their kernels away (nodes_wanted: not
	 * always). */
	if (c->cuda_graphs != GRAPHS_NODE && !(session.deny & DENY_GRAPH_TRACE))
		all |= BIT(KIND_GRAPH_TRACE);
	for (uint32_t kind = 0; kind < KIND_MOST; kind++)
		if (!layout_stride[kind])
			all &= ~BIT(kind);
	atomic_store(&session.kinds, all);
}

uint64_t kinds_for_ours(void)
{
	return atomic_load_explicit(&session.kinds, memory_order_relaxed);
}

bool kinds_stray(void)
{
	return session.deny & DENY_KERNELS_OFF ||
	       atomic_load(&theirs) & BIT(KIND_CONCURRENT_KERNEL);
}

static bool for_ours(uint32_t kind)
{
	return kind < KIND_MOST && kinds_for_ours() >> kind & 1;
}

/* ---- CUPTI itself ---- */

/* In CUPTI's numbers kind 4 is domain 1, kind 5 domain 2. */
static int domain_of(uint32_t kind)
{
	return kind == KIND_DRIVER ? DOMAIN_DRIVER : DOMAIN_RUNTIME;
}

static bool can_list(int domain)
{
	return domain == DOMAIN_DRIVER ? cupti.ActivityEnableDriverApi != NULL
				       : cupti.ActivityEnableRuntimeApi != NULL;
}

static int switch_call(int domain, uint32_t cbid, bool on)
{
	return domain == DOMAIN_DRIVER ? cupti.ActivityEnableDriverApi(cbid, on)
				       : cupti.ActivityEnableRuntimeApi(cbid, on);
}

static int switch_kind(uint32_t kind, bool on)
{
	int result;

	if (!on)
		result = cupti.ActivityDisable(kind);
	/* For a GPU whose context is older than this there is a record only by
	 * dumping. */
	else if (kind == KIND_DEVICE && cupti.ActivityEnableAndDump)
		result = cupti.ActivityEnableAndDump(kind);
	else
		result = cupti.ActivityEnable(kind);
	if (!result)
		really = on ? really | BIT(kind) : really & ~BIT(kind);
	return result;
}

/* Switches our list of calls; calls that the client wants stay on. */
static int switch_list(int domain, bool on)
{
	unsigned which = (unsigned)domain - 1;
	uint32_t kind = domain == DOMAIN_DRIVER ? KIND_DRIVER : KIND_RUNTIME;
	bool whole = theirs >> kind & 1;
	int first = 0;

	for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++) {
		struct call *c = calls_get(domain, cbid);
		int result;

		if (!c || !(c->traits & CALL_SWITCHED))
			continue;
		if (!on && ((whole && !calls_has(&theirs_off[which], cbid)) ||
			    calls_has(&theirs_on[which], cbid)))
			continue;
		result = switch_call(domain, cbid, on);
		/* A call that this release cannot tell of is no reason to give up. */
		if (result && result != CUPTI_INVALID_PARAMETER && !first)
			first = result;
	}
	listed[which] = on;
	return first;
}

/* ---- ours ---- */

/* Without one of these kinds a window's GPU part would look complete and not be so: all
 * kinds fail with it. A refusal of any other kind is said, and the rest is recorded. */
static bool is_essential(uint32_t kind)
{
	return api_is_call(kind) || kind == KIND_CONCURRENT_KERNEL;
}

/* A client that wants kernels, copies or sets, and not whole graphs, gets those in graphs
 * as well: while it does, we have them too, and say so. */
static bool nodes_wanted(void)
{
	const uint64_t nodes = BIT(KIND_CONCURRENT_KERNEL) | BIT(KIND_MEMCPY) |
			       BIT(KIND_MEMCPY2) | BIT(KIND_MEMSET);
	uint64_t all = atomic_load(&theirs);
	bool wanted = all & nodes && !(all & BIT(KIND_GRAPH_TRACE));

	if (wanted && for_ours(KIND_GRAPH_TRACE) &&
	    session_config()->cuda_graphs == GRAPHS_GRAPH &&
	    !atomic_exchange(&session.nodes, true))
		facts_tell();
	return wanted;
}

static void settle_graphs(void)
{
	bool is = really & BIT(KIND_GRAPH_TRACE);
	bool be = atomic_load(&theirs) & BIT(KIND_GRAPH_TRACE) ||
		  (ours_on && for_ours(KIND_GRAPH_TRACE) && !nodes_wanted());

	if (is != be)
		switch_kind(KIND_GRAPH_TRACE, be);
}

static int ours_kind(uint32_t kind, bool on)
{
	if (kind == KIND_GRAPH_TRACE && (on ? nodes_wanted() : !(really & BIT(kind))))
		return 0;
	if (api_is_call(kind) && can_list(domain_of(kind)))
		return switch_list(domain_of(kind), on);
	/* The kind is on for the client already, or still: but DEVICE is switched on
	 * again, for the dump. */
	if (on ? really >> kind & 1 && kind != KIND_DEVICE : theirs >> kind & 1)
		return 0;
	if (!on && kind == KIND_CONCURRENT_KERNEL && session.deny & DENY_KERNELS_OFF)
		return 0;
	return switch_kind(kind, on);
}

/* The function that was called for a kind, for the line that tells its error. */
static const char *switch_name(uint32_t kind)
{
	if (!api_is_call(kind) || !can_list(domain_of(kind)))
		return "cuptiActivityEnable";
	return kind == KIND_DRIVER ? "cuptiActivityEnableDriverApi"
				   : "cuptiActivityEnableRuntimeApi";
}

/* A thread that gave up waiting (kinds_ours_now) sets session.missing before it tries the
 * lock once more. So either `missing` is seen here, after the lock is free, or that
 * thread gets the lock and switches kinds on itself. */
static void give_lock(bool taken)
{
	lock_give(&lock, taken);
	if (atomic_load(&ours_on) && atomic_load(&session.state) == SESSION_READY &&
	    atomic_exchange(&session.missing, false))
		session_gap_ends();
}

static int switch_from(bool was, bool on)
{
	/* Calls are switched on last: when CUPTI tells of a call, it already tells of
	 * what the call launches. */
	static const uint8_t order[] = {
		KIND_DEVICE,      KIND_OVERHEAD,   KIND_CONCURRENT_KERNEL,
		KIND_GRAPH_TRACE, KIND_MEMCPY,     KIND_MEMCPY2,
		KIND_MEMSET,      KIND_CUDA_EVENT, KIND_SYNCHRONIZATION,
		KIND_MEMORY2,     KIND_DRIVER,     KIND_RUNTIME,
	};
	int first = 0, refused[sizeof(order)] = { 0 };

	/* We may have stepped aside since the caller looked: kinds are not switched on
	 * beside another profiler's. */
	if (on && atomic_load(&session.state) != SESSION_READY)
		return 0;
	atomic_store(&ours_on, was && on);
	for (unsigned i = 0; i < sizeof(order) && was != on; i++) {
		unsigned at = on ? i : (unsigned)sizeof(order) - 1 - i;
		int result = for_ours(order[at]) ? ours_kind(order[at], on) : 0;

		refused[at] = result;
		if (result && is_essential(order[at]) && !first) {
			atomic_store(&failed, switch_name(order[at]));
			first = result;
		}
	}
	for (unsigned i = 0; on && !first && i < sizeof(order); i++)
		if (refused[i])
			say_lacks_kind(order[i], refused[i]);
	/* All kinds or none: those that were switched on would fill buffers for
	 * nobody. */
	for (unsigned i = 0; on && first && i < sizeof(order); i++)
		if (for_ours(order[i]))
			ours_kind(order[i], false);
	atomic_store(&ours_on, on && !first);
	return first;
}

int kinds_ours(bool on)
{
	bool taken = lock_take(&lock);
	int first = switch_from(ours_on, on);

	give_lock(taken);
	return first;
}

int kinds_ours_now(void)
{
	int64_t most = atomic_load(&session.missing) ? 0 : PROGRAM_WAITS_NS;
	int first = 0;

	if (!lock_take_for(&lock, most)) {
		if (atomic_load(&ours_on)) /* a client has the lock, ours are on */
			return 0;
		session_gap_begins(most);
		atomic_store(&session.missing, true);
		if (!lock_take_for(&lock, 0))
			return 0;
	}
	first = switch_from(ours_on, true);
	give_lock(true);
	return first;
}

/* A window is announced before its thread looks whether kinds are on. So either `wanted`
 * sees the window here, under the lock; or its thread, which has not waited for the lock,
 * sees that ours_on is false. */
int kinds_rest(bool (*wanted)(void))
{
	bool taken = lock_take(&lock), was = atomic_exchange(&ours_on, false);
	int first = 0;

	if (wanted())
		atomic_store(&ours_on, was);
	else
		first = switch_from(was, false);
	give_lock(taken);
	return first;
}

const char *kinds_failed(void)
{
	return atomic_load(&failed);
}

bool kinds_ours_on(void)
{
	return atomic_load(&ours_on);
}

/* Another profiler has CUPTI: what was on is no longer known. */
void kinds_lost(void)
{
	bool taken = lock_take(&lock);

	atomic_store(&ours_on, false);
	really = 0;
	listed[0] = listed[1] = false;
	lock_give(&lock, taken);
}

/* ---- theirs ---- */

static int theirs_kind(uint32_t kind, bool on)
{
	bool mine = ours_on && for_ours(kind);
	bool list = api_is_call(kind) && can_list(domain_of(kind));
	int result = 0;

	/* A whole kind that is on already: nothing to do, but single calls that the
	 * client had switched off come back with it. */
	if (on ? !(really >> kind & 1) || list : !mine || list)
		result = switch_kind(kind, on);
	if (result)
		return result;
	if (on)
		atomic_fetch_or(&theirs, BIT(kind));
	else
		atomic_fetch_and(&theirs, ~BIT(kind));
	settle_graphs();
	if (!list)
		return 0;
	calls_put_all(&theirs_off[domain_of(kind) - 1], false);
	calls_put_all(&theirs_on[domain_of(kind) - 1], false);
	if (!on && mine)
		switch_list(domain_of(kind), true);
	return 0;
}

int kinds_theirs(uint32_t kind, bool on)
{
	bool taken;
	int result;

	if (kind >= KIND_MOST)
		return on ? cupti.ActivityEnable(kind) : cupti.ActivityDisable(kind);
	taken = lock_take(&lock);
	result = theirs_kind(kind, on);
	give_lock(taken);
	return result;
}

int kinds_theirs_api(int domain, uint32_t cbid, bool on)
{
	unsigned which = (unsigned)domain - 1;
	struct call *c = calls_get(domain, cbid);
	bool taken, keep;
	int result = 0;

	if (which > 1 || !can_list(domain))
		return CUPTI_UNKNOWN;
	taken = lock_take(&lock);
	keep = !on && ours_on && listed[which] && c && c->traits & CALL_SWITCHED;
	if (!keep)
		result = switch_call(domain, cbid, on);
	if (!result) {
		calls_put(&theirs_on[which], cbid, on);
		calls_put(&theirs_off[which], cbid, !on);
	}
	give_lock(taken);
	return result;
}

void kinds_theirs_none(void)
{
	for (uint32_t kind = 0; kind < KIND_MOST; kind++)
		if (atomic_load(&theirs) >> kind & 1)
			kinds_theirs(kind, false);
	for (int domain = DOMAIN_DRIVER; domain <= DOMAIN_RUNTIME; domain++)
		for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++)
			if (calls_has(&theirs_on[domain - 1], cbid))
				kinds_theirs_api(domain, cbid, false);
	memset((void *)theirs_off, 0, sizeof(theirs_off));
}

void kinds_fork_child(void)
{
	atomic_store(&lock, 0);
	atomic_store(&ours_on, false);
	atomic_store(&theirs, 0);
	really = 0;
	listed[0] = listed[1] = false;
	memset((void *)theirs_on, 0, sizeof(theirs_on));
	memset((void *)theirs_off, 0, sizeof(theirs_off));
}
