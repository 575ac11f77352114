/* SPDX-License-Identifier: Apache-2.0 */
/* A client's callbacks of CUPTI: its subscription on top of ours, and which of them it
 * has switched on. */
#include "agent/cupti/client/calls.h"
#include "agent/cupti/client/retreat.h"
#include "agent/cupti/flow/contexts.h"
#include "agent/cupti/lib/calls.h"
#include "agent/cupti/lib/session.h"
#include "base/seldom.h"

/*
 * CUPTI has one place for a subscriber. When it is ours the client gets our handle, and
 * callbacks that the client has switched on go on to it; functions that take a handle
 * then work without our help. When the client comes first it subscribes with a callback
 * of ours, so that this can serve both later.
 */
#define DOMAINS 8u

static SELDOM struct calls_set wanted[DOMAINS];

static void want_one(int domain, uint32_t cbid, bool on)
{
	if (domain >= 0 && domain < (int)DOMAINS)
		calls_put(&wanted[domain], cbid, on);
}

static void want_domain(int domain, bool on)
{
	if (domain >= 0 && domain < (int)DOMAINS)
		calls_put_all(&wanted[domain], on);
}

static void want_all(bool on)
{
	for (unsigned domain = 1; domain < DOMAINS; domain++)
		want_domain((int)domain, on);
}

void client_callback(int domain, uint32_t cbid, const void *data)
{
	cupti_callback callback = atomic_load(&client.callback);

	if (callback && domain >= 0 && domain < (int)DOMAINS &&
	    calls_has(&wanted[domain], cbid))
		callback(client.callback_arg, domain, cbid, data);
}

/* The callback of a subscription that the client made before CUPTI became ours. */
static void called_back(void *arg, int domain, uint32_t cbid, const void *data)
{
	(void)arg;
	if (atomic_load(&session.state) == SESSION_READY)
		contexts_callback(domain, cbid, data);
	client_callback(domain, cbid, data);
}

/* Our callbacks go through the same switches as the client's: ours go on again. */
static void keep_ours(void)
{
	if (session.subscriber)
		contexts_watch();
}

int YIELD_EXPORT(cuptiSubscribe)(void **subscriber, cupti_callback callback, void *arg)
{
	struct visit v = ENTER(cuptiSubscribe);
	bool ours = v.shared && session.subscriber;
	int result = CUPTI_OK;

	if (!v.noted || !subscriber || !callback)
		return client_leave(&v, REAL(v, (void **, cupti_callback, void *),
					     subscriber, callback, arg));
	if (atomic_load(&client.callback))
		return client_leave(&v, CUPTI_TWO_SUBSCRIBERS);
	if (!ours)
		result = REAL(v, (void **, cupti_callback, void *), subscriber,
			      called_back, NULL);
	if (result)
		return client_leave(&v, result);
	if (ours)
		*subscriber = session.subscriber;
	else
		client.handle = *subscriber;
	want_all(false);
	client.callback_arg = arg;
	atomic_store(&client.callback, callback);
	return client_leave(&v, CUPTI_OK);
}

int YIELD_EXPORT(cuptiSubscribe_v2)(void **subscriber, cupti_callback callback, void *arg,
				    void *params)
{
	struct visit v = ENTER(cuptiSubscribe_v2);

	if (v.shared)
		retreat_second_interface();
	return client_leave(&v, REAL(v, (void **, cupti_callback, void *, void *),
				     subscriber, callback, arg, params));
}

/* Our place stays ours: only callbacks that the client switched on go off. */
static int let_go(void *subscriber, const void *caller)
{
	struct visit v = client_enter(YIELD_cuptiEnableAllDomains, caller);
	int result = REAL(v, (uint32_t, void *), 0, subscriber);

	keep_ours();
	return result;
}

int YIELD_EXPORT(cuptiUnsubscribe)(void *subscriber)
{
	struct visit v = ENTER(cuptiUnsubscribe);
	bool known = v.noted && subscriber && atomic_load(&client.callback);
	bool ours = known && v.shared && subscriber == session.subscriber;
	int result = ours ? let_go(subscriber, __builtin_return_address(0))
			  : REAL(v, (void *), subscriber);

	if (known && !result) {
		atomic_store(&client.callback, NULL);
		want_all(false);
		client.handle = NULL; /* the subscription is ours alone, or gone */
	}
	return client_leave(&v, result);
}

/* After a switch of the client's: noted, and ours is on again. */
static int after_switch(const struct visit *v, const void *subscriber, bool on,
			int result)
{
	if (v->shared && subscriber == session.subscriber && !on)
		keep_ours();
	return client_leave(v, result);
}

int YIELD_EXPORT(cuptiEnableCallback)(uint32_t on, void *subscriber, int domain,
				      uint32_t cbid)
{
	struct visit v = ENTER(cuptiEnableCallback);
	int result =
		REAL(v, (uint32_t, void *, int, uint32_t), on, subscriber, domain, cbid);

	if (v.noted && !result)
		want_one(domain, cbid, on);
	return after_switch(&v, subscriber, on, result);
}

int YIELD_EXPORT(cuptiEnableDomain)(uint32_t on, void *subscriber, int domain)
{
	struct visit v = ENTER(cuptiEnableDomain);
	int result = REAL(v, (uint32_t, void *, int), on, subscriber, domain);

	if (v.noted && !result)
		want_domain(domain, on);
	return after_switch(&v, subscriber, on, result);
}

int YIELD_EXPORT(cuptiEnableAllDomains)(uint32_t on, void *subscriber)
{
	struct visit v = ENTER(cuptiEnableAllDomains);
	int result = REAL(v, (uint32_t, void *), on, subscriber);

	if (v.noted && !result)
		want_all(on);
	return after_switch(&v, subscriber, on, result);
}
