/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of CUPTI that a client calls. Each decides whether the call goes straight
 * on to the library, or is answered here because CUPTI is shared. */
#include "agent/cupti/client/calls.h"
#include "agent/core/clock.h"
#include "agent/cupti/client/retreat.h"
#include "agent/cupti/client/translate.h"
#include "agent/cupti/client/wants.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/session.h"
#include "base/sys.h"

#include <errno.h>

#define STARTS_AGAIN 24u /* 12.6: before, CUPTI may crash when it starts again */

struct visit client_enter(enum yield_function function, const void *caller)
{
	struct visit v = { .saved = errno };
	bool ours;

	v.real = real_of(function, caller, &ours);
	v.shared = ours && v.real && atomic_load(&session.state) == SESSION_READY;
	v.noted = session.wanted && v.real && (ours || !cupti.GetVersion);
	return v;
}

int client_leave(const struct visit *v, int result)
{
	errno = v->saved;
	return result;
}

/* CUPTI's time; 0 where the call is not noted. */
static uint64_t read_time(const struct visit *v, const void *caller)
{
	uint64_t ns = 0;
	bool ours;
	int (*get)(uint64_t *) =
		v->noted ? real_of(YIELD_cuptiGetTimestamp, caller, &ours) : NULL;

	if (get)
		get(&ns);
	return ns;
}
#define NOW(v) read_time(&(v), __builtin_return_address(0))

/* ---- the client is gone ---- */

/* Nothing of what the client registered or switched on is left; we are kept away. */
static void forget_client(void)
{
	retreat_keep();
	copies_fork_child();
}

/* ---- kinds ---- */

int YIELD_EXPORT(cuptiActivityRegisterCallbacks)(cupti_requested requested,
						 cupti_completed completed)
{
	struct visit v = ENTER(cuptiActivityRegisterCallbacks);
	bool good = requested && completed;
	int result = v.shared && good ? CUPTI_OK
				      : REAL(v, (cupti_requested, cupti_completed),
					     requested, completed);

	if (v.noted && good && !result) {
		atomic_store(&client.requested, requested);
		atomic_store(&client.completed, completed);
		if (v.shared && wants_any())
			copies_offer();
	}
	return client_leave(&v, result);
}

/* KIND_KERNEL serialises kernels, and cannot be on beside our kind of them. */
static int enable_kind(struct visit *v, uint32_t kind, bool dump, uint64_t ns)
{
	bool was = wants_on(kind);
	int result;

	if (kind == KIND_KERNEL) {
		if (!was)
			retreat_block(true);
		if (v->shared)
			retreat_for_client(
				"a profiler that has kernels run one at a time");
		v->shared = false;
	}
	if (v->noted)
		wants_kind(kind, true, ns);
	result = v->shared && !dump ? kinds_theirs(kind, true)
				    : REAL(*v, (uint32_t), kind);
	if (v->shared && dump && !result)
		kinds_theirs(kind, true);
	if (result && !was && v->noted)
		wants_kind(kind, false, ns);
	if (result && !was && kind == KIND_KERNEL)
		retreat_block(false);
	if (!result && v->shared)
		copies_offer();
	return client_leave(v, result);
}

int YIELD_EXPORT(cuptiActivityEnable)(uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityEnable);
	return enable_kind(&v, kind, false, NOW(v));
}

int YIELD_EXPORT(cuptiActivityEnableAndDump)(uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityEnableAndDump);
	return enable_kind(&v, kind, true, NOW(v));
}

int YIELD_EXPORT(cuptiActivityDisable)(uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityDisable);
	uint64_t ns = NOW(v);
	int result = v.shared ? kinds_theirs(kind, false) : REAL(v, (uint32_t), kind);
	bool blocked = kind == KIND_KERNEL && wants_on(kind);

	if (!result && v.noted)
		wants_kind(kind, false, ns);
	if (!result && blocked) /* last: we come back at once, with all that is on */
		retreat_block(false);
	return client_leave(&v, result);
}

int YIELD_EXPORT(cuptiActivityEnableContext)(void *context, uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityEnableContext);
	int result;

	retreat_block(true);
	if (v.shared)
		retreat_for_client("a profiler that records single contexts");
	result = REAL(v, (void *, uint32_t), context, kind);
	if (result)
		retreat_block(false);
	return client_leave(&v, result);
}

int YIELD_EXPORT(cuptiActivityDisableContext)(void *context, uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityDisableContext);
	int result = REAL(v, (void *, uint32_t), context, kind);

	if (!result)
		retreat_block(false);
	return client_leave(&v, result);
}

static int one_call(const struct visit *v, int domain, uint32_t cbid, bool on,
		    uint64_t ns)
{
	int result = v->shared ? kinds_theirs_api(domain, cbid, on)
			       : REAL(*v, (uint32_t, uint8_t), cbid, on);

	if (!result && v->noted)
		wants_call(domain, cbid, on, ns);
	if (!result && v->shared && on)
		copies_offer();
	return client_leave(v, result);
}

int YIELD_EXPORT(cuptiActivityEnableRuntimeApi)(uint32_t cbid, uint8_t on)
{
	struct visit v = ENTER(cuptiActivityEnableRuntimeApi);
	return one_call(&v, DOMAIN_RUNTIME, cbid, on, NOW(v));
}

int YIELD_EXPORT(cuptiActivityEnableDriverApi)(uint32_t cbid, uint8_t on)
{
	struct visit v = ENTER(cuptiActivityEnableDriverApi);
	return one_call(&v, DOMAIN_DRIVER, cbid, on, NOW(v));
}

/* ---- fields that cost extra ---- */

/* The field is on when we or the client want it; in the client's copies only when the
 * client does (client/copies.c). */
static int switch_extra(const struct visit *v, bool on, bool ours, _Atomic bool *theirs)
{
	int result = v->shared && !on && ours ? (int)CUPTI_OK
					      : REAL(*v, (uint8_t), (uint8_t)on);

	if (!result && v->noted)
		atomic_store(theirs, on);
	return client_leave(v, result);
}

int YIELD_EXPORT(cuptiActivityEnableLatencyTimestamps)(uint8_t on)
{
	struct visit v = ENTER(cuptiActivityEnableLatencyTimestamps);
	return switch_extra(&v, on, session_config()->cuda_latency, &client.latency);
}

int YIELD_EXPORT(cuptiActivityEnableCudaEventDeviceTimestamps)(uint8_t on)
{
	struct visit v = ENTER(cuptiActivityEnableCudaEventDeviceTimestamps);
	return switch_extra(&v, on, session_config()->cuda_sync, &client.event_times);
}

/* ---- flushing, counting, settings ---- */

/*
 * Complete records come without force. Work that still runs would come back without an
 * end and never again, to the client as to us: so force is used only where the client
 * asks for it and something is left.
 */
static int flush_for_client(uint32_t flag)
{
	uint64_t turn = buffers_turn();
	int result;

	copies_asking(true);
	result = session_flush(0);
	if (!result && flag && retreat_still_out(turn))
		result = session_flush(flag);
	translate_sample();
	copies_late(
		turn); /* first: what comes back from here on is handed on as it comes */
	copies_deliver();
	if (wants_any())
		copies_offer();
	copies_asking(false);
	return result;
}

int YIELD_EXPORT(cuptiActivityFlushAll)(uint32_t flag)
{
	struct visit v = ENTER(cuptiActivityFlushAll);

	return client_leave(&v, v.shared && atomic_load(&client.completed)
					? flush_for_client(flag)
					: REAL(v, (uint32_t), flag));
}

int YIELD_EXPORT(cuptiActivityGetNumDroppedRecords)(void *context, uint32_t stream,
						    size_t *dropped)
{
	struct visit v = ENTER(cuptiActivityGetNumDroppedRecords);
	size_t n = 0;
	int result;

	if (!v.shared || !dropped)
		return client_leave(&v, REAL(v, (void *, uint32_t, size_t *), context,
					     stream, dropped));
	result = REAL(v, (void *, uint32_t, size_t *), context, stream, &n);
	if (!result) {
		atomic_fetch_add(&client.dropped_ours, n);
		*dropped = n + atomic_exchange(&client.dropped, 0);
	}
	return client_leave(&v, result);
}

/* What the client promises of its buffers does not hold for ours, and CUPTI gets ours
 * alone. */
int YIELD_EXPORT(cuptiActivitySetAttribute)(int attribute, size_t *size, void *value)
{
	struct visit v = ENTER(cuptiActivitySetAttribute);
	bool about_buffers = attribute == ATTRIBUTE_ZEROED_OUT && size && value;

	return client_leave(
		&v, v.shared && about_buffers
			    ? (int)CUPTI_OK
			    : REAL(v, (int, size_t *, void *), attribute, size, value));
}

/* CUPTI's clock stays CUPTI's: our records are told by it, too, and changing it in the
 * middle spoils records. The client's copies are translated (client/translate.c). */
int YIELD_EXPORT(cuptiActivityRegisterTimestampCallback)(uint64_t (*clock)(void))
{
	struct visit v = ENTER(cuptiActivityRegisterTimestampCallback);
	int result;

	if (v.shared && clock) {
		translate_clock(clock);
		return client_leave(&v, CUPTI_OK);
	}
	result = REAL(v, (uint64_t(*)(void)), clock);
	if (!result && v.noted)
		atomic_store(&client.own_clock, true);
	return client_leave(&v, result);
}

int YIELD_EXPORT(cuptiSetThreadIdType)(int type)
{
	struct visit v = ENTER(cuptiSetThreadIdType);
	bool good = type == 0 || type == 1;
	int result = v.shared && good ? (int)CUPTI_OK : REAL(v, (int), type);

	if (!result && v.noted && good)
		atomic_store(&client.pthreads, type == 0);
	return client_leave(&v, result);
}

int YIELD_EXPORT(cuptiGetThreadIdType)(int *type)
{
	struct visit v = ENTER(cuptiGetThreadIdType);

	if (!v.shared || !type)
		return client_leave(&v, REAL(v, (int *), type));
	*type = atomic_load(&client.pthreads) ? 0 : 1;
	return client_leave(&v, CUPTI_OK);
}

/* Takes CUPTI out of the process, for us as well: our records are fetched before, and we
 * come back where that is known to work. */
int YIELD_EXPORT(cuptiFinalize)(void)
{
	struct visit v = ENTER(cuptiFinalize);
	int result;

	retreat_block(true);
	if (v.shared) {
		retreat_for_client("the program's own profiler, which ended CUPTI");
		if (retreat_still_out(buffers_turn()))
			session_flush(1); /* nothing comes back later */
		kinds_theirs_none();
	}
	result = v.real ? ((int (*)(void))v.real)() : (int)CUPTI_UNKNOWN;
	if (!result && v.noted)
		forget_client();
	if (session.version >= STARTS_AGAIN)
		retreat_block(false);
	return client_leave(&v, result);
}
