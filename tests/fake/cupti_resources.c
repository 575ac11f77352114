/* SPDX-License-Identifier: Apache-2.0 */
/* cupti_resources - records of devices, contexts and streams, and of overhead. */
#include "tests/fake/cupti_internal.h"

#include <unistd.h>

static void device(int ordinal)
{
	struct fake_device *d = cupti.gpu->device(ordinal);
	rec_DEVICE *r = d ? record_begin(sizeof(*r)) : NULL;

	if (!r)
		return;
	memset(r, 0, sizeof(*r));
	r->kind = CUPTI_ACTIVITY_KIND_DEVICE;
	r->globalMemoryBandwidth = 3350000000;
	r->globalMemorySize = d->memory;
	r->constantMemorySize = 65536;
	r->l2CacheSize = 50 << 20;
	r->numThreadsPerWarp = 32;
	r->coreClockRate = (uint32_t)d->clock_khz;
	r->numMemcpyEngines = 3;
	r->numMultiprocessors = (uint32_t)d->sms;
	r->maxIPC = 4;
	r->maxWarpsPerMultiprocessor = 64;
	r->maxBlocksPerMultiprocessor = 32;
	r->maxSharedMemoryPerMultiprocessor = 233472;
	r->maxRegistersPerMultiprocessor = 65536;
	r->maxRegistersPerBlock = 65536;
	r->maxSharedMemoryPerBlock = 49152;
	r->maxThreadsPerBlock = 1024;
	r->maxBlockDimX = r->maxBlockDimY = 1024;
	r->maxBlockDimZ = 64;
	r->maxGridDimX = 0x7fffffff;
	r->maxGridDimY = r->maxGridDimZ = 65535;
	r->computeCapabilityMajor = (uint32_t)d->major;
	r->computeCapabilityMinor = (uint32_t)d->minor;
	r->id = (uint32_t)ordinal;
	memset(&r->uuid, 0x40 + ordinal, sizeof(r->uuid));
	r->name = strdup(d->name); /* the client frees it */
	SET(DEVICE, r, isCudaVisible, 1);
	SET(DEVICE, r, numTpcs, (uint32_t)d->sms / 2);
	record_end(cupti_raw());
}

static void context(struct fake_context *c)
{
	rec_CONTEXT *r = record_begin(sizeof(*r));

	if (!r)
		return;
	r->kind = CUPTI_ACTIVITY_KIND_CONTEXT;
	r->contextId = c->id;
	r->deviceId = (uint32_t)c->device;
	r->computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
	r->nullStreamId = 7;
	SET(CONTEXT, r, parentContextId, 0);
	SET(CONTEXT, r, isGreenContext, 0);
	SET(CONTEXT, r, numMultiprocessors, 0);
	SET(CONTEXT, r, cigMode, 0);
	SET(CONTEXT, r, processId, (uint64_t)getpid());
	record_end(cupti_raw());
}

static void stream(struct fake_stream *s)
{
	rec_STREAM *r = record_begin(sizeof(*r));

	if (!r)
		return;
	r->kind = CUPTI_ACTIVITY_KIND_STREAM;
	r->contextId = s->context->id;
	r->streamId = s->id;
	r->priority = (uint32_t)s->priority;
	r->flag = s->legacy     ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
		  : s->blocking ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT
				: CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
	r->correlationId = call_correlation();
	record_end(cupti_raw());
}

static void overhead(uint32_t kind, uint64_t begin, uint64_t end)
{
	rec_OVERHEAD *r = record_begin(sizeof(*r));

	if (!r)
		return;
	r->kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	r->overheadKind = (CUpti_ActivityOverheadKind)kind;
	r->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	r->objectId.pt.processId = (uint32_t)getpid();
	r->objectId.pt.threadId = cupti_tid();
	r->start = cupti_stamp(begin);
	r->end = cupti_stamp(end);
	SET(OVERHEAD, r, correlationId, call_correlation());
	SET(OVERHEAD, r, overheadData, NULL);
	record_end(cupti_raw());
}

void records_resource(enum fake_resource what, void *of, uint64_t begin, uint64_t end)
{
	if (what == DEVICE_FOUND && (cupti.kinds & BIT(CUPTI_ACTIVITY_KIND_DEVICE)))
		device((int)begin);
	if (what == CONTEXT_MADE && (cupti.kinds & BIT(CUPTI_ACTIVITY_KIND_CONTEXT)))
		context(of);
	if (what == STREAM_MADE && (cupti.kinds & BIT(CUPTI_ACTIVITY_KIND_STREAM)))
		stream(of);
	/* Lazy loading of a kernel's code at its first launch: told from 12.3. */
	if (what == MODULE_MADE && VERSION >= 123 &&
	    (cupti.kinds & BIT(CUPTI_ACTIVITY_KIND_OVERHEAD)))
		overhead(5u << 16, begin, end);
	call_resource(what, of);
}

static void streams_of(struct fake_context *c)
{
	for (struct fake_stream *s = c->streams; s; s = s->next)
		stream(s);
}

int records_dump(uint32_t kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
		for (int i = 0; i < cupti.gpu->devices(); i++)
			device(i);
	if (kind == CUPTI_ACTIVITY_KIND_CONTEXT)
		cupti.gpu->each_context(context);
	if (kind == CUPTI_ACTIVITY_KIND_STREAM)
		cupti.gpu->each_context(streams_of);
	return 0;
}
