/* SPDX-License-Identifier: Apache-2.0 */
/* cupti_api - the synthetic libcupti: subscribers, names, ids, and what is only a switch.
 */
#include "tests/fake/cupti_internal.h"

EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
	long long said = cupti_number("FAKE_VERSION", CUPTI_API_VERSION);

	return FREE(cuptiGetVersion, 0, version ? (*version = (uint32_t)said, 0) : 1);
}

static int result_string(CUptiResult result, const char **text)
{
	size_t n;
	const struct fake_constant *c = fake_constants(&n);

	if (!text)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < n; i++)
		if (c[i].value == (uint32_t)result &&
		    (strncmp(c[i].name, "CUPTI_ERROR_", 12) == 0 ||
		     strcmp(c[i].name, "CUPTI_SUCCESS") == 0)) {
			*text = c[i].name;
			return 0;
		}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	return FREE(cuptiGetResultString, result, result_string(result, text));
}

#if VERSION >= 122
EXPORT CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
	return FREE(cuptiGetErrorMessage, result, result_string(result, text));
}
#endif

EXPORT CUptiResult cuptiGetLastError(void)
{
	return CUPTI_SUCCESS;
}

static int callback_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	const char *found = name_of((int)domain, cbid);

	if (!name || !found)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = found;
	return 0;
}

EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
					const char **name)
{
	return FREE(cuptiGetCallbackName, cbid, callback_name(domain, cbid, name));
}

/* ---- subscribers ---- */

static int handle; /* its address is the one subscriber's handle */

static int subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
		     void *userdata)
{
	if (!subscriber || !callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (cupti.subscribed || cupti_text("FAKE_OWNER"))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	cupti.subscribed = true;
	cupti.userdata = userdata;
	cupti.callback = callback;
	memset(cupti.domain_on, 0, sizeof(cupti.domain_on));
	memset(cupti.callback_on, 0, sizeof(cupti.callback_on));
	*subscriber = (CUpti_SubscriberHandle)&handle;
	return 0;
}

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
				  CUpti_CallbackFunc callback, void *userdata)
{
	return FN(cuptiSubscribe, 0, subscribe(subscriber, callback, userdata));
}

#if VERSION >= 130
static int subscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			void *userdata, CUpti_SubscriberParams *p)
{
	const char *owner = cupti_text("FAKE_OWNER");
	int r = p && p->structSize < 32 ? CUPTI_ERROR_INVALID_PARAMETER
					: subscribe(subscriber, callback, userdata);

	if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && p &&
	    p->oldSubscriberName)
		snprintf(p->oldSubscriberName, p->oldSubscriberSize, "%s",
			 owner ? owner : "CUPTI for fake");
	return r;
}

EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
				     CUpti_CallbackFunc callback, void *userdata,
				     CUpti_SubscriberParams *params)
{
	return FN(cuptiSubscribe_v2, 0,
		  subscribe_v2(subscriber, callback, userdata, params));
}
#endif

static bool mine(CUpti_SubscriberHandle subscriber)
{
	return cupti.subscribed && subscriber == (CUpti_SubscriberHandle)&handle;
}

EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	return FN(cuptiUnsubscribe, 0,
		  mine(subscriber) ? (cupti.subscribed = false, cupti.callback = NULL, 0)
				   : CUPTI_ERROR_INVALID_PARAMETER);
}

EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
				     CUpti_CallbackDomain domain)
{
	return FN(cuptiEnableDomain, domain,
		  mine(subscriber) && (unsigned)domain < 16
			  ? (cupti.domain_on[domain] = enable != 0, 0)
			  : CUPTI_ERROR_INVALID_PARAMETER);
}

/* One callback of the resource domain switches the whole domain here. */
EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
				       CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	return FN(cuptiEnableCallback, cbid,
		  !mine(subscriber) || cbid >= 1024 ? CUPTI_ERROR_INVALID_PARAMETER
		  : domain <= 2 ? (cupti.callback_on[domain][cbid] = enable != 0, 0)
				: (cupti.domain_on[domain & 15] = enable != 0, 0));
}

EXPORT CUptiResult cuptiEnableAllDomains(uint32_t enable,
					 CUpti_SubscriberHandle subscriber)
{
	return FN(cuptiEnableAllDomains, enable,
		  mine(subscriber) ? (memset(cupti.domain_on, enable != 0,
					     sizeof(cupti.domain_on)),
				      0)
				   : CUPTI_ERROR_INVALID_PARAMETER);
}

static int finalize(void)
{
	cupti.kinds = 0;
	cupti.subscribed = false;
	cupti.callback = NULL;
	memset(cupti.runtime, 0, sizeof(cupti.runtime));
	memset(cupti.driver, 0, sizeof(cupti.driver));
	cupti.n_runtime = cupti.n_driver = 0;
	return 0;
}

EXPORT CUptiResult cuptiFinalize(void)
{
	return FREE(cuptiFinalize, 0, finalize());
}

/* ---- ids ---- */

EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
	return FN(cuptiGetContextId, 0,
		  context && id ? (*id = context->id, 0) : CUPTI_ERROR_INVALID_CONTEXT);
}

EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
	return FN(cuptiGetDeviceId, 0,
		  context && id ? (*id = (uint32_t)context->device, 0)
				: CUPTI_ERROR_INVALID_CONTEXT);
}

static int stream_id(CUstream stream, bool per_thread, uint32_t *id)
{
	struct fake_stream *s = cupti.gpu->stream(stream, per_thread);

	return s && id ? (*id = s->id, 0) : CUPTI_ERROR_INVALID_STREAM;
}

EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream,
				      uint8_t per_thread, uint32_t *id)
{
	(void)context;
	return FN(cuptiGetStreamIdEx, 0, stream_id(stream, per_thread, id));
}

EXPORT CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *id)
{
	(void)context;
	return FN(cuptiGetStreamId, 0, stream_id(stream, false, id));
}

EXPORT CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	return FN(cuptiGetGraphId, 0, graph ? (*id = graph->id, 0) : 1);
}

#if VERSION >= 123
EXPORT CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	return FN(cuptiGetGraphExecId, 0, exec ? (*id = exec->graph->id, 0) : 1);
}
#endif

EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	return FN(cuptiGetGraphNodeId, 0, node ? (*id = node->work.node, 0) : 1);
}

EXPORT CUptiResult
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	return FN(cuptiActivityPushExternalCorrelationId, kind, external_push(kind, id));
}

EXPORT CUptiResult
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *id)
{
	return FN(cuptiActivityPopExternalCorrelationId, kind, external_pop(kind, id));
}

/* ---- switches ---- */

static int set_stamp(CUpti_TimestampCallbackFunc stamp)
{
	if (!stamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	cupti.stamp_raw = cupti_raw();
	cupti.stamp_value = stamp();
	cupti.stamp = stamp;
	return 0;
}

EXPORT CUptiResult
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc stamp)
{
	return FREE(cuptiActivityRegisterTimestampCallback, 0, set_stamp(stamp));
}

EXPORT CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	return FN(cuptiActivityEnableLatencyTimestamps, enable,
		  (cupti.latency = enable != 0, 0));
}

#define SWITCH(name)                            \
	EXPORT CUptiResult name(uint8_t enable) \
	{                                       \
		return FN(name, enable, 0);     \
	}
SWITCH(cuptiActivityEnableLaunchAttributes)
#if VERSION >= 123
SWITCH(cuptiActivityEnableDeviceGraph)
#endif
#if VERSION >= 126
SWITCH(cuptiActivityEnableAllocationSource)
#endif
#if VERSION >= 128
EXPORT CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	return FN(cuptiActivityEnableAllSyncRecords, enable,
		  (cupti.all_syncs = enable != 0, 0));
}

SWITCH(cuptiActivityEnableHWTrace)
#endif
#if VERSION >= 130
EXPORT CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
	return FN(cuptiActivityEnableCudaEventDeviceTimestamps, enable,
		  (cupti.event_times = enable != 0, 0));
}
#endif

EXPORT int cuptiNvtxInitialize(void *get_export_table);
EXPORT int cuptiNvtxInitialize(void *get_export_table)
{
	(void)get_export_table;
	return 1;
}

EXPORT int cuptiNvtxInitialize2(void *get_export_table);
EXPORT int cuptiNvtxInitialize2(void *get_export_table)
{
	(void)get_export_table;
	return 1;
}
