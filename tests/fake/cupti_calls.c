/* SPDX-License-Identifier: Apache-2.0 */
/* cupti_calls - API calls: correlation ids, their records, a subscriber's callbacks,
 * external correlation ids. */
#include "tests/fake/cupti_internal.h"

#include <unistd.h>

enum { MAX_FUNCTIONS = 1024, MAX_EXTERNAL = 64, EXTERNAL_KINDS = 6 };

static uint32_t cbids[3]
		     [MAX_FUNCTIONS]; /* by domain and function, + 1; 0 = not looked up */
static __thread struct fake_call *top; /* the outermost call */
static __thread struct {
	uint64_t id[EXTERNAL_KINDS][MAX_EXTERNAL];
	uint32_t depth[EXTERNAL_KINDS];
} external;

static uint32_t cbid_of(const struct fake_call *call)
{
	uint32_t *at = &cbids[call->domain][call->function % MAX_FUNCTIONS];

	if (!*at)
		*at = name_cbid(call->domain, cupti.gpu->name(call->function)) + 1;
	return *at - 1;
}

static uint32_t next_correlation(void)
{
	static uint32_t next;
	static bool begun;
	uint32_t id;

	pthread_mutex_lock(&cupti.mutex);
	if (!begun)
		next = (uint32_t)cupti_number("FAKE_CORRELATION", 1);
	begun = true;
	id = next++;
	if (id == 0)
		id = next++;
	pthread_mutex_unlock(&cupti.mutex);
	return id;
}

uint32_t call_correlation(void)
{
	return top ? top->correlation : 0;
}

uint64_t call_begin(void)
{
	return top && top->begin ? top->begin : cupti_stamp(cupti_raw());
}

static bool has_record(const struct fake_call *call, uint32_t cbid)
{
	const uint8_t *on = call->domain == RUNTIME_API ? cupti.runtime : cupti.driver;

	if (call->nested && !KNOB("FAKE_NESTED", 0))
		return false;
	return cbid && on[cbid];
}

static void call_back(struct fake_call *call, uint32_t cbid, bool leaving)
{
	CUpti_CallbackData data = { 0 };

	if (!cupti.callback ||
	    !(cupti.domain_on[call->domain] || cupti.callback_on[call->domain][cbid]))
		return;
	data.callbackSite = leaving ? CUPTI_API_EXIT : CUPTI_API_ENTER;
	data.functionName = cupti.gpu->name(call->function);
	data.functionReturnValue = leaving ? &call->result : NULL;
	data.symbolName = call->symbol;
	data.context = cupti.gpu->current(false);
	data.contextUid = data.context ? data.context->id : 0;
	data.correlationData = &call->scratch;
	data.correlationId = call->correlation;
	cupti.callback(cupti.userdata, (CUpti_CallbackDomain)call->domain, cbid, &data);
}

static void external_records(uint32_t correlation)
{
	for (uint32_t kind = 1; kind < EXTERNAL_KINDS; kind++) {
		rec_EXTERNAL_CORRELATION *r;

		if (external.depth[kind] == 0)
			continue;
		r = record_begin(sizeof(*r));
		if (!r)
			continue;
		r->kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
		r->externalKind = (CUpti_ExternalCorrelationKind)kind;
		r->externalId = external.id[kind][external.depth[kind] - 1];
		r->correlationId = correlation;
		record_end(cupti_raw());
	}
}

void call_enter(struct fake_call *call)
{
	uint32_t cbid = cbid_of(call);
	bool numbered = cupti.n_runtime || cupti.n_driver || cupti.callback;

	if (!cupti.process)
		cupti.process = getpid();
	if (!call->outer)
		top = call;
	call->correlation = call->outer && call->nested ? call->outer->correlation
			    : numbered                  ? next_correlation()
							: 0;
	if (has_record(call, cbid)) {
		if (cupti.kinds & BIT(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
			external_records(call->correlation);
		call->begin = cupti_stamp(cupti_raw());
	} else {
		call->begin = 0;
	}
	call_back(call, cbid, false);
}

void call_leave(struct fake_call *call)
{
	uint32_t cbid = cbid_of(call);
	rec_RUNTIME *r;

	call_back(call, cbid, true);
	if (call->begin && has_record(call, cbid) && (r = record_begin(sizeof(*r)))) {
		r->kind = call->domain == RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME
						      : CUPTI_ACTIVITY_KIND_DRIVER;
		r->cbid = cbid;
		r->start = call->begin;
		r->end = cupti_stamp(cupti_raw());
		r->processId = (uint32_t)getpid();
		r->threadId = cupti_tid();
		r->correlationId = call->correlation;
		r->returnValue = (uint32_t)call->result;
		record_end(cupti_raw());
	}
	if (top == call)
		top = NULL;
}

void call_resource(enum fake_resource what, void *of)
{
	static const uint32_t cbid[] = {
		[CONTEXT_MADE] = CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
		[STREAM_MADE] = CUPTI_CBID_RESOURCE_STREAM_CREATED,
		[MODULE_MADE] = CUPTI_CBID_RESOURCE_MODULE_LOADED,
		[INIT_DONE] = CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
	};
	CUpti_ResourceData data = { 0 };

	if (what == DEVICE_FOUND || !cupti.callback ||
	    !(cupti.domain_on[CUPTI_CB_DOMAIN_RESOURCE] & 1))
		return;
	data.context = what == CONTEXT_MADE ? of : cupti.gpu->current(false);
	if (what == STREAM_MADE)
		data.resourceHandle.stream = of;
	cupti.callback(cupti.userdata, CUPTI_CB_DOMAIN_RESOURCE, cbid[what], &data);
}

int external_push(uint32_t kind, uint64_t id)
{
	if (kind == 0 || kind >= EXTERNAL_KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (external.depth[kind] == MAX_EXTERNAL)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	external.id[kind][external.depth[kind]++] = id;
	return 0;
}

int external_pop(uint32_t kind, uint64_t *id)
{
	if (kind == 0 || kind >= EXTERNAL_KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (external.depth[kind] == 0)
		return CUPTI_ERROR_QUEUE_EMPTY;
	external.depth[kind]--;
	if (id)
		*id = external.id[kind][external.depth[kind]];
	return 0;
}
