/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cupti/yield.h"
#include "agent/core/clock.h"

#include <errno.h>

#define STARTS_AGAIN 24u /* 12.6: before, CUPTI may crash when it starts again */

struct visit yield_enter(enum yield_function function, const void *caller)
{
	struct visit v = { .saved = errno };
	bool ours;

	v.real = yield_real(function, caller, &ours);
	v.shared = ours && v.real && atomic_load(&session.state) == SESSION_READY;
	v.noted = session.wanted && v.real && (ours || !cupti.GetVersion);
	return v;
}

int yield_leave(const struct visit *v, int result)
{
	errno = v->saved;
	return result;
}

/* CUPTI's time; 0 while nobody will ask. */
static uint64_t now(const struct visit *v, const void *caller)
{
	uint64_t ns = 0;
	bool ours;
	int (*get)(uint64_t *);

	if (!v->noted)
		return 0;
	get = (int (*)(uint64_t *))yield_real(YIELD_cuptiGetTimestamp, caller, &ours);
	if (get)
		get(&ns);
	return ns;
}
#define NOW(v) now(&(v), __builtin_return_address(0))

/* ---- what cannot be shared ---- */

#define ITS_TURN_NS 2000000000ll /* who asked for a function has time to call it */

static _Atomic uint32_t blocking; /* contexts or kinds that need CUPTI for themselves */
static _Atomic int64_t its_turn; /* CLOCK_MONOTONIC ns: until then */

bool tee_blocks(void)
{
	int64_t until = atomic_load(&its_turn);

	return atomic_load(&blocking) || atomic_load(&client.own_clock) ||
	       (until && clock_get_ns(CLOCK_MONOTONIC) < until);
}

/* Has CUPTI records in buffers of up to that turn? What has come back is soon read. */
static bool still_out(uint64_t turn)
{
	struct timespec moment = { .tv_nsec = 1000000 };

	for (int i = 0; i < 5 && buffers_held(turn); i++)
		nanosleep(&moment, NULL);
	return buffers_held(turn);
}

/* CUPTI is the client's from here on: what it has on stays on, its own callbacks are
 * registered, and a subscription that serves both becomes its own. First all that lies
 * in our buffers comes back, because it would not know them. */
void yield_step_aside(const char *who)
{
	cupti_requested requested;
	cupti_completed completed;
	uint64_t turn = buffers_turn();
	bool left;

	if (atomic_load(&client.callback) && !client.handle)
		client.handle = session.subscriber;
	left = session_step_aside(who);
	if (tee_callbacks(&requested, &completed)) {
		if (still_out(turn))
			session_flush(1);
		tee_deliver();
		cupti.ActivityRegisterCallbacks(requested, completed);
	}
	if (left)
		session_left();
}

static void block(bool on)
{
	uint32_t n = atomic_load(&blocking);

	if (on) {
		atomic_fetch_add(&blocking, 1);
		return;
	}
	while (n && !atomic_compare_exchange_weak(&blocking, &n, n - 1))
		;
	if (n == 1)
		consumer_wake(); /* we may come back */
}

void yield_second_interface(void)
{
	uint32_t state = atomic_load(&session.state);

	if (state != SESSION_READY && state != SESSION_LEAVING && state != SESSION_ASIDE)
		return;
	atomic_store(&its_turn, clock_get_ns(CLOCK_MONOTONIC) + ITS_TURN_NS);
	if (state == SESSION_READY)
		yield_step_aside("a profiler on CUPTI's second interface");
}

/* Nothing of what it registered or switched on is left; we are kept away. */
static void forget(void)
{
	atomic_store(&blocking, 1);
	tee_fork_child();
}

void cupti_asked_for(const char *symbol)
{
	(void)symbol;
	if (!api_asking() && !yield_asking())
		yield_second_interface();
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
		if (v.shared && when_any())
			tee_offer();
	}
	return yield_leave(&v, result);
}

/* The kernel kind that serialises cannot be on beside ours. */
static int enable(struct visit *v, uint32_t kind, bool dump, uint64_t ns)
{
	bool was = when_on(kind);
	int result;

	if (kind == KIND_KERNEL) {
		if (!was)
			block(true);
		if (v->shared)
			yield_step_aside("a profiler that has kernels run one at a time");
		v->shared = false;
	}
	if (v->noted)
		when_kind(kind, true, ns);
	result = v->shared && !dump ? kinds_theirs(kind, true)
				    : REAL(*v, (uint32_t), kind);
	if (v->shared && dump && !result)
		kinds_theirs(kind, true);
	if (result && !was && v->noted)
		when_kind(kind, false, ns);
	if (result && !was && kind == KIND_KERNEL)
		block(false);
	if (!result && v->shared)
		tee_offer();
	return yield_leave(v, result);
}

int YIELD_EXPORT(cuptiActivityEnable)(uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityEnable);
	return enable(&v, kind, false, NOW(v));
}

int YIELD_EXPORT(cuptiActivityEnableAndDump)(uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityEnableAndDump);
	return enable(&v, kind, true, NOW(v));
}

int YIELD_EXPORT(cuptiActivityDisable)(uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityDisable);
	uint64_t ns = NOW(v);
	int result = v.shared ? kinds_theirs(kind, false) : REAL(v, (uint32_t), kind);
	bool blocked = kind == KIND_KERNEL && when_on(kind);

	if (!result && v.noted)
		when_kind(kind, false, ns);
	if (!result && blocked) /* last: we come back at once, with all that is on */
		block(false);
	return yield_leave(&v, result);
}

int YIELD_EXPORT(cuptiActivityEnableContext)(void *context, uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityEnableContext);
	int result;

	block(true);
	if (v.shared)
		yield_step_aside("a profiler that records single contexts");
	result = REAL(v, (void *, uint32_t), context, kind);
	if (result)
		block(false);
	return yield_leave(&v, result);
}

int YIELD_EXPORT(cuptiActivityDisableContext)(void *context, uint32_t kind)
{
	struct visit v = ENTER(cuptiActivityDisableContext);
	int result = REAL(v, (void *, uint32_t), context, kind);

	if (!result)
		block(false);
	return yield_leave(&v, result);
}

static int one_call(const struct visit *v, int domain, uint32_t cbid, bool on,
		    uint64_t ns)
{
	int result = v->shared ? kinds_theirs_api(domain, cbid, on)
			       : REAL(*v, (uint32_t, uint8_t), cbid, on);

	if (!result && v->noted)
		when_call(domain, cbid, on, ns);
	if (!result && v->shared && on)
		tee_offer();
	return yield_leave(v, result);
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

/* On when either of us wants it; in the client's copies only when it does (tee.c). */
static int extra(const struct visit *v, bool on, bool ours, _Atomic bool *theirs)
{
	int result = v->shared && !on && ours ? (int)CUPTI_OK
					      : REAL(*v, (uint8_t), (uint8_t)on);

	if (!result && v->noted)
		atomic_store(theirs, on);
	return yield_leave(v, result);
}

int YIELD_EXPORT(cuptiActivityEnableLatencyTimestamps)(uint8_t on)
{
	struct visit v = ENTER(cuptiActivityEnableLatencyTimestamps);
	return extra(&v, on, session.config.cuda_latency, &client.latency);
}

int YIELD_EXPORT(cuptiActivityEnableCudaEventDeviceTimestamps)(uint8_t on)
{
	struct visit v = ENTER(cuptiActivityEnableCudaEventDeviceTimestamps);
	return extra(&v, on, session.config.cuda_sync, &client.event_times);
}

/* ---- flushing, counting, settings ---- */

/*
 * What is complete comes without force. What is still running would come back without
 * an end and never again, to the client as to us: so force is used only where the client
 * asks for it and something is left.
 */
static int flush(uint32_t flag)
{
	uint64_t turn = buffers_turn();
	int result;

	tee_asking(true);
	result = session_flush(0);
	if (!result && flag && still_out(turn))
		result = session_flush(flag);
	shape_sample();
	tee_late(turn); /* first: what comes back from here on is handed on as it comes */
	tee_deliver();
	if (when_any())
		tee_offer();
	tee_asking(false);
	return result;
}

int YIELD_EXPORT(cuptiActivityFlushAll)(uint32_t flag)
{
	struct visit v = ENTER(cuptiActivityFlushAll);

	return yield_leave(&v, v.shared && atomic_load(&client.completed)
				       ? flush(flag)
				       : REAL(v, (uint32_t), flag));
}

int YIELD_EXPORT(cuptiActivityGetNumDroppedRecords)(void *context, uint32_t stream,
						    size_t *dropped)
{
	struct visit v = ENTER(cuptiActivityGetNumDroppedRecords);
	size_t n = 0;
	int result;

	if (!v.shared || !dropped)
		return yield_leave(&v, REAL(v, (void *, uint32_t, size_t *), context,
					    stream, dropped));
	result = REAL(v, (void *, uint32_t, size_t *), context, stream, &n);
	if (!result) {
		atomic_fetch_add(&client.dropped_ours, n);
		*dropped = n + atomic_exchange(&client.dropped, 0);
	}
	return yield_leave(&v, result);
}

/* What it promises of its buffers does not hold for ours; theirs are not CUPTI's. */
int YIELD_EXPORT(cuptiActivitySetAttribute)(int attribute, size_t *size, void *value)
{
	struct visit v = ENTER(cuptiActivitySetAttribute);
	bool about_buffers = attribute == ATTRIBUTE_ZEROED_OUT && size && value;

	return yield_leave(
		&v, v.shared && about_buffers
			    ? (int)CUPTI_OK
			    : REAL(v, (int, size_t *, void *), attribute, size, value));
}

/* CUPTI's clock stays CUPTI's: our records are told by it, too, and changing it in the
 * middle spoils records. The client's copies are translated (tee_shape.c). */
int YIELD_EXPORT(cuptiActivityRegisterTimestampCallback)(uint64_t (*clock)(void))
{
	struct visit v = ENTER(cuptiActivityRegisterTimestampCallback);
	int result;

	if (v.shared && clock) {
		shape_clock(clock);
		return yield_leave(&v, CUPTI_OK);
	}
	result = REAL(v, (uint64_t(*)(void)), clock);
	if (!result && v.noted)
		atomic_store(&client.own_clock, true);
	return yield_leave(&v, result);
}

int YIELD_EXPORT(cuptiSetThreadIdType)(int type)
{
	struct visit v = ENTER(cuptiSetThreadIdType);
	bool good = type == 0 || type == 1;
	int result = v.shared && good ? (int)CUPTI_OK : REAL(v, (int), type);

	if (!result && v.noted && good)
		atomic_store(&client.pthreads, type == 0);
	return yield_leave(&v, result);
}

int YIELD_EXPORT(cuptiGetThreadIdType)(int *type)
{
	struct visit v = ENTER(cuptiGetThreadIdType);

	if (!v.shared || !type)
		return yield_leave(&v, REAL(v, (int *), type));
	*type = atomic_load(&client.pthreads) ? 0 : 1;
	return yield_leave(&v, CUPTI_OK);
}

/* Takes CUPTI out of the process, ours with it: ours is saved before, and we come back
 * where that is known to work. */
int YIELD_EXPORT(cuptiFinalize)(void)
{
	struct visit v = ENTER(cuptiFinalize);
	int result;

	block(true);
	if (v.shared) {
		yield_step_aside("the program's own profiler, which ended CUPTI");
		if (still_out(buffers_turn()))
			session_flush(1); /* nothing comes back later */
		kinds_theirs_none();
	}
	result = v.real ? ((int (*)(void))v.real)() : (int)CUPTI_UNKNOWN;
	if (!result && v.noted)
		forget();
	if (session.version >= STARTS_AGAIN)
		block(false);
	return yield_leave(&v, result);
}
