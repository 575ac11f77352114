/* SPDX-License-Identifier: Apache-2.0 */
/* driver_work - libcuda.so.1: launches, memory, streams, events, graphs. */
#include "tests/fake/driver_internal.h"

static const char *symbol(CUfunction f)
{
	return f ? f->name : NULL;
}

static int launch(CUfunction f, const unsigned *dims, unsigned shared, CUstream stream,
		  bool per_thread, void **args, const unsigned *cluster, uint8_t type)
{
	struct fake_work work = { .kind = WORK_KERNEL,
				  .stream = device_stream(stream, per_thread),
				  .function = f,
				  .grid = { dims[0], dims[1], dims[2] },
				  .block = { dims[3], dims[4], dims[5] },
				  .shared = shared,
				  .launch_type = type };

	if (!work.stream)
		return cudaErrorInvalidResourceHandle;
	if (!f || !dims[0] || !dims[1] || !dims[2] || !dims[3] || !dims[4] || !dims[5])
		return cudaErrorInvalidValue;
	if (cluster)
		memcpy(work.cluster, cluster, sizeof(work.cluster));
	return time_launch(&work, args);
}

#define LAUNCH(name, per_thread)                                                     \
	EXPORT CUresult name(CUfunction f, unsigned gx, unsigned gy, unsigned gz,    \
			     unsigned bx, unsigned by, unsigned bz, unsigned shared, \
			     CUstream stream, void **args, void **extra)             \
	{                                                                            \
		unsigned dims[] = { gx, gy, gz, bx, by, bz };                        \
                                                                                     \
		(void)extra;                                                         \
		return CALL_OF(                                                      \
			name, symbol(f),                                             \
			launch(f, dims, shared, stream, per_thread, args, NULL, 0)); \
	}
LAUNCH(cuLaunchKernel, false)
LAUNCH(cuLaunchKernel_ptsz, true)

#define LAUNCH_COOPERATIVE(name, per_thread)                                         \
	EXPORT CUresult name(CUfunction f, unsigned gx, unsigned gy, unsigned gz,    \
			     unsigned bx, unsigned by, unsigned bz, unsigned shared, \
			     CUstream stream, void **args)                           \
	{                                                                            \
		unsigned dims[] = { gx, gy, gz, bx, by, bz };                        \
                                                                                     \
		return CALL_OF(                                                      \
			name, symbol(f),                                             \
			launch(f, dims, shared, stream, per_thread, args, NULL, 1)); \
	}
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)

/* Attributes are 72 bytes: a number, a pad, 64 bytes; 4 is the cluster, 2 cooperative. */
static int launch_config(const CUlaunchConfig *c, CUfunction f, bool per_thread,
			 void **args)
{
	const unsigned *cluster = NULL;
	uint8_t type = 0;

	for (unsigned i = 0; i < c->numAttrs; i++) {
		const uint32_t *a = (const uint32_t *)((char *)c->attrs + 72 * i);

		if (a[0] == 4)
			cluster = a + 2;
		if (a[0] == 2 && a[2])
			type = 1;
	}
	return launch(f, &c->gridDimX, c->sharedMemBytes, c->hStream, per_thread, args,
		      cluster, type);
}

#define LAUNCH_EX(name, per_thread)                                                     \
	EXPORT CUresult name(const CUlaunchConfig *c, CUfunction f, void **args,        \
			     void **extra)                                              \
	{                                                                               \
		(void)extra;                                                            \
		return CALL_OF(name, symbol(f), launch_config(c, f, per_thread, args)); \
	}
LAUNCH_EX(cuLaunchKernelEx, false)
LAUNCH_EX(cuLaunchKernelEx_ptsz, true)

EXPORT CUresult cuLaunchHostFunc(CUstream stream, void (*run)(void *), void *data)
{
	return CALL(cuLaunchHostFunc, time_host(device_stream(stream, false), run, data));
}

/* ---- memory ---- */

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
	return CALL(cuMemAlloc_v2, memory_allocate((void **)out, size, 3, NULL));
}

EXPORT CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned flags)
{
	(void)flags;
	return CALL(cuMemAllocManaged, memory_allocate((void **)out, size, 5, NULL));
}

EXPORT CUresult cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
	(void)flags;
	return CALL(cuMemHostAlloc, memory_allocate(out, size, 2, NULL));
}

EXPORT CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
	return CALL(cuMemAllocAsync,
		    memory_allocate((void **)out, size, 3, device_stream(stream, false)));
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr at)
{
	return CALL(cuMemFree_v2, memory_release((void *)at, NULL));
}

EXPORT CUresult cuMemFreeHost(void *at)
{
	return CALL(cuMemFreeHost, memory_release(at, NULL));
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr at, CUstream stream)
{
	return CALL(cuMemFreeAsync,
		    memory_release((void *)at, device_stream(stream, false)));
}

EXPORT CUresult cuMemGetInfo_v2(size_t *left, size_t *total)
{
	return CALL(cuMemGetInfo_v2,
		    (*total = 80ull << 30, *left = *total - memory_used(), 0));
}

EXPORT CUresult cuPointerGetAttribute(void *out, int attribute, CUdeviceptr at)
{
	int kind = memory_kind((void *)at);

	if (attribute == 2) /* memory type: 1 host, 2 device */
		*(unsigned *)out = kind == 2 ? 1 : 2;
	return CALL(cuPointerGetAttribute, kind == 1 ? 1 : 0);
}

static int copy(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream, int kind,
		bool async)
{
	struct fake_work work = { .kind = WORK_COPY,
				  .stream = device_stream(stream, false),
				  .bytes = size,
				  .copy_kind = (uint8_t)kind,
				  .async = async };

	work.from_kind = (uint8_t)memory_kind((void *)from);
	work.to_kind = (uint8_t)memory_kind((void *)to);
	if (!work.stream)
		return cudaErrorInvalidResourceHandle;
	return time_copy(&work, (void *)to, (void *)from);
}

#define COPY(name, number)                                                    \
	EXPORT CUresult name(CUdeviceptr to, CUdeviceptr from, size_t size)   \
	{                                                                     \
		return CALL(name, copy(to, from, size, NULL, number, false)); \
	}
#define COPY_ASYNC(name, number)                                               \
	EXPORT CUresult name(CUdeviceptr to, CUdeviceptr from, size_t size,    \
			     CUstream stream)                                  \
	{                                                                      \
		return CALL(name, copy(to, from, size, stream, number, true)); \
	}
COPY(cuMemcpy, 8)
COPY(cuMemcpyHtoD_v2, 1)
COPY(cuMemcpyDtoH_v2, 2)
COPY(cuMemcpyDtoD_v2, 8)
COPY_ASYNC(cuMemcpyAsync, 8)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, 1)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, 2)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, 8)

static int set(CUdeviceptr at, unsigned value, size_t bytes, CUstream stream)
{
	struct fake_work work = { .kind = WORK_SET,
				  .stream = device_stream(stream, false),
				  .bytes = bytes,
				  .value = value,
				  .async = true };

	work.to_kind = (uint8_t)memory_kind((void *)at);
	return work.stream ? time_set(&work, (void *)at) : cudaErrorInvalidResourceHandle;
}

#define SET(name, type, size)                                               \
	EXPORT CUresult name##_v2(CUdeviceptr at, type value, size_t n)     \
	{                                                                   \
		return CALL(name##_v2, set(at, value, n * size, NULL));     \
	}                                                                   \
	EXPORT CUresult name##Async(CUdeviceptr at, type value, size_t n,   \
				    CUstream stream)                        \
	{                                                                   \
		return CALL(name##Async, set(at, value, n * size, stream)); \
	}
SET(cuMemsetD8, unsigned char, 1)
SET(cuMemsetD32, unsigned, 4)

/* ---- streams, events, graphs ---- */

EXPORT CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
	return CALL(cuStreamCreate, (*out = device_stream_create(flags, 0), 0));
}

EXPORT CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
	return CALL(cuStreamCreateWithPriority,
		    (*out = device_stream_create(flags, priority), 0));
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
	return CALL(cuStreamDestroy_v2, (stream->gone = true, 0));
}

#define STREAM(name, per_thread, look)                                                  \
	EXPORT CUresult name(CUstream stream)                                           \
	{                                                                               \
		return CALL(name,                                                       \
			    time_wait_stream(device_stream(stream, per_thread), look)); \
	}
STREAM(cuStreamSynchronize, false, false)
STREAM(cuStreamSynchronize_ptsz, true, false)
STREAM(cuStreamQuery, false, true)
STREAM(cuStreamQuery_ptsz, true, true)

EXPORT CUresult cuEventCreate(struct fake_event **out, unsigned flags)
{
	(void)flags;
	return CALL(cuEventCreate, (*out = time_event_create(), 0));
}

EXPORT CUresult cuEventDestroy_v2(struct fake_event *event)
{
	(void)event;
	return CALL(cuEventDestroy_v2, 0);
}

EXPORT CUresult cuEventQuery(struct fake_event *event)
{
	return CALL(cuEventQuery, time_wait_event(event, true));
}

EXPORT CUresult cuEventSynchronize(struct fake_event *event)
{
	return CALL(cuEventSynchronize, time_wait_event(event, false));
}

EXPORT CUresult cuEventElapsedTime(float *ms, struct fake_event *a, struct fake_event *b)
{
	return CALL(cuEventElapsedTime,
		    a->at && b->at
			    ? (*ms = (float)((double)(int64_t)(b->at - a->at) / 1e6), 0)
			    : cudaErrorInvalidResourceHandle);
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
					    unsigned long long flags)
{
	(void)flags;
	return CALL(cuGraphInstantiateWithFlags, graph_instantiate(out, graph));
}

EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	return CALL(cuGraphLaunch, graph_launch(exec, device_stream(stream, false)));
}

EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
	return CALL(cuGraphLaunch_ptsz, graph_launch(exec, device_stream(stream, true)));
}

EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
	(void)graph;
	return CALL(cuGraphDestroy, 0);
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	(void)exec;
	return CALL(cuGraphExecDestroy, 0);
}
