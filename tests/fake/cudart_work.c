/* SPDX-License-Identifier: Apache-2.0 */
/* cudart_work - libcudart: launches, streams, events, graphs. */
#include "tests/fake/cudart_internal.h"

static int launch(const void *function, dim3 g, dim3 b, void **args, size_t shared,
		  CUstream stream, bool per_thread)
{
	CUfunction f = rt_kernel(function);

	if (!f)
		return cudaErrorInvalidDeviceFunction;
	return (per_thread ? driver.launch_ptsz : driver.launch)(
		f, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared, stream, args, NULL);
}

#define LAUNCH(name, type, per_thread)                                             \
	EXPORT cudaError_t name(type function, dim3 grid, dim3 block, void **args, \
				size_t shared, cudaStream_t stream)                \
	{                                                                          \
		return RT_OF(name, rt_name(function), true,                        \
			     launch(function, grid, block, args, shared, stream,   \
				    per_thread));                                  \
	}
LAUNCH(cudaLaunchKernel, const void *, false)
LAUNCH(cudaLaunchKernel_ptsz, const void *, true)
#if CUDART >= 13
LAUNCH(__cudaLaunchKernel, cudaKernel_t, false)
LAUNCH(__cudaLaunchKernel_ptsz, cudaKernel_t, true)
#endif

static int cooperative(const void *function, dim3 g, dim3 b, void **args, size_t shared,
		       CUstream stream)
{
	CUfunction f = rt_kernel(function);

	return f ? driver.cooperative(f, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared,
				      stream, args)
		 : cudaErrorInvalidDeviceFunction;
}

#define COOPERATIVE(name, handle)                                                    \
	EXPORT cudaError_t name(const void *function, dim3 grid, dim3 block,         \
				void **args, size_t shared, cudaStream_t stream)     \
	{                                                                            \
		return RT_OF(name, rt_name(function), true,                          \
			     cooperative(function, grid, block, args, shared,        \
					 stream ? stream : (cudaStream_t)(handle))); \
	}
COOPERATIVE(cudaLaunchCooperativeKernel, 0)
COOPERATIVE(cudaLaunchCooperativeKernel_ptsz, 2)

#ifndef CUDART_OLD
static int launch_ex(const cudaLaunchConfig_t *c, const void *function, void **args,
		     bool per_thread)
{
	CUfunction f = rt_kernel(function);
	CUlaunchConfig config = { c->gridDim.x,
				  c->gridDim.y,
				  c->gridDim.z,
				  c->blockDim.x,
				  c->blockDim.y,
				  c->blockDim.z,
				  (unsigned)c->dynamicSmemBytes,
				  c->stream,
				  c->attrs,
				  c->numAttrs };

	if (!f)
		return cudaErrorInvalidDeviceFunction;
	return (per_thread ? driver.launch_ex_ptsz : driver.launch_ex)(&config, f, args,
								       NULL);
}

#define LAUNCH_EX(name, per_thread)                                                     \
	EXPORT cudaError_t name(const cudaLaunchConfig_t *config, const void *function, \
				void **args)                                            \
	{                                                                               \
		return RT_OF(name, rt_name(function), true,                             \
			     launch_ex(config, function, args, per_thread));            \
	}
LAUNCH_EX(cudaLaunchKernelExC, false)
LAUNCH_EX(cudaLaunchKernelExC_ptsz, true)
#endif

static __thread struct {
	dim3 grid, block;
	size_t shared;
	void *stream;
} pushed;

EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
					    void *stream)
{
	pushed.grid = grid;
	pushed.block = block;
	pushed.shared = shared;
	pushed.stream = stream;
	return 0;
}

EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
					      void *stream)
{
	*grid = pushed.grid;
	*block = pushed.block;
	*shared = pushed.shared;
	*(void **)stream = pushed.stream;
	return 0;
}

/* ---- streams: each call as it is and in its per-thread form ---- */

#define S(handle) gpu->stream(handle, per_thread)
#define STREAM_CALLS(suffix, thread)                                                     \
	EXPORT cudaError_t cudaStreamSynchronize##suffix(cudaStream_t stream)            \
	{                                                                                \
		const bool per_thread = thread;                                          \
		return RT(cudaStreamSynchronize##suffix,                                 \
			  NESTED(cuStreamSynchronize##suffix,                            \
				 gpu->wait_stream(S(stream), false)));                   \
	}                                                                                \
	EXPORT cudaError_t cudaStreamQuery##suffix(cudaStream_t stream)                  \
	{                                                                                \
		const bool per_thread = thread;                                          \
		return RT(cudaStreamQuery##suffix, gpu->wait_stream(S(stream), true));   \
	}                                                                                \
	EXPORT cudaError_t cudaStreamWaitEvent##suffix(                                  \
		cudaStream_t stream, cudaEvent_t event, unsigned flags)                  \
	{                                                                                \
		const bool per_thread = thread;                                          \
		(void)flags;                                                             \
		return RT(cudaStreamWaitEvent##suffix,                                   \
			  NESTED(cuStreamWaitEvent##suffix,                              \
				 gpu->stream_waits(S(stream), event)));                  \
	}                                                                                \
	EXPORT cudaError_t cudaStreamIsCapturing##suffix(cudaStream_t stream,            \
							 int *status)                    \
	{                                                                                \
		const bool per_thread = thread;                                          \
		return RT(cudaStreamIsCapturing##suffix,                                 \
			  (*status = S(stream)->capture != NULL, 0));                    \
	}                                                                                \
	EXPORT cudaError_t cudaStreamBeginCapture##suffix(cudaStream_t stream, int mode) \
	{                                                                                \
		const bool per_thread = thread;                                          \
		(void)mode;                                                              \
		return RT(cudaStreamBeginCapture##suffix,                                \
			  gpu->capture_begin(S(stream)));                                \
	}                                                                                \
	EXPORT cudaError_t cudaStreamEndCapture##suffix(cudaStream_t stream,             \
							cudaGraph_t *out)                \
	{                                                                                \
		const bool per_thread = thread;                                          \
		return RT(cudaStreamEndCapture##suffix,                                  \
			  gpu->capture_end(S(stream), out));                             \
	}                                                                                \
	EXPORT cudaError_t cudaEventRecord##suffix(cudaEvent_t event,                    \
						   cudaStream_t stream)                  \
	{                                                                                \
		const bool per_thread = thread;                                          \
		return RT(cudaEventRecord##suffix,                                       \
			  NESTED(cuEventRecord##suffix, gpu->record(event, S(stream)))); \
	}                                                                                \
	EXPORT cudaError_t cudaEventRecordWithFlags##suffix(                             \
		cudaEvent_t event, cudaStream_t stream, unsigned flags)                  \
	{                                                                                \
		const bool per_thread = thread;                                          \
		(void)flags;                                                             \
		return RT(cudaEventRecordWithFlags##suffix,                              \
			  gpu->record(event, S(stream)));                                \
	}                                                                                \
	EXPORT cudaError_t cudaLaunchHostFunc##suffix(cudaStream_t stream,               \
						      cudaHostFn_t run, void *data)      \
	{                                                                                \
		const bool per_thread = thread;                                          \
		return RT(cudaLaunchHostFunc##suffix, gpu->host(S(stream), run, data));  \
	}                                                                                \
	EXPORT cudaError_t cudaGraphLaunch##suffix(cudaGraphExec_t exec,                 \
						   cudaStream_t stream)                  \
	{                                                                                \
		const bool per_thread = thread;                                          \
		return RT(cudaGraphLaunch##suffix,                                       \
			  driver.graph_launch(exec, S(stream)));                         \
	}
STREAM_CALLS(, false)
STREAM_CALLS(_ptsz, true)

EXPORT cudaError_t cudaStreamCreate(cudaStream_t *out)
{
	return RT(cudaStreamCreate, (*out = gpu->stream_create(0, 0), 0));
}

EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
	return RT(cudaStreamCreateWithFlags, (*out = gpu->stream_create(flags, 0), 0));
}

EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags,
						int priority)
{
	return RT(cudaStreamCreateWithPriority,
		  (*out = gpu->stream_create(flags, priority), 0));
}

EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	return RT(cudaStreamDestroy, (stream->gone = true, 0));
}

EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	return RT(cudaDeviceGetStreamPriorityRange, (*least = 0, *greatest = -5, 0));
}

#if CUDART >= 13
EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int *status,
					    unsigned long long *id, cudaGraph_t *graph,
					    const cudaGraphNode_t **dependencies,
					    const void **edges, size_t *count)
{
	const bool per_thread = false;
	struct fake_graph *g = rt_start(true) == 0 ? S(stream)->capture : NULL;

	(void)dependencies, (void)edges;
	if (graph)
		*graph = g;
	if (count)
		*count = 0;
#else
EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int *status,
					    unsigned long long *id)
{
	const bool per_thread = false;
	struct fake_graph *g = rt_start(true) == 0 ? S(stream)->capture : NULL;

#endif
	if (id)
		*id = g ? g->id : 0;
	return RT(cudaStreamGetCaptureInfo, (*status = g != NULL, 0));
}

/* ---- events ---- */

EXPORT cudaError_t cudaEventCreate(cudaEvent_t *out)
{
	return RT(cudaEventCreate, (*out = gpu->event_create(), 0));
}

EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
	(void)flags;
	return RT(cudaEventCreateWithFlags, (*out = gpu->event_create(), 0));
}

EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	(void)event; /* kept: a stream may still wait for it */
	return RT(cudaEventDestroy, 0);
}

EXPORT cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return RT(cudaEventQuery, gpu->wait_event(event, true));
}

EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return RT(cudaEventSynchronize,
		  NESTED(cuEventSynchronize, gpu->wait_event(event, false)));
}

static int elapsed(float *ms, cudaEvent_t a, cudaEvent_t b)
{
	if (!a->at || !b->at)
		return cudaErrorInvalidResourceHandle;
	if (gpu->now() < a->at || gpu->now() < b->at)
		return cudaErrorNotReady;
	*ms = (float)((double)(int64_t)(b->at - a->at) / 1e6);
	return 0;
}

EXPORT cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	return RT(cudaEventElapsedTime, elapsed(ms, from, to));
}

/* ---- graphs ---- */

#if CUDART >= 12
EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph,
					unsigned long long flags)
{
	(void)flags;
#else
EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph,
					cudaGraphNode_t *error, char *log, size_t size)
{
	(void)error, (void)log, (void)size;
#endif
	return RT(cudaGraphInstantiate, gpu->instantiate(out, graph));
}

EXPORT cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
						 unsigned long long flags)
{
	(void)flags;
	return RT(cudaGraphInstantiateWithFlags, gpu->instantiate(out, graph));
}

EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	(void)graph;
	return RT(cudaGraphDestroy, 0);
}

EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	(void)exec;
	return RT(cudaGraphExecDestroy, 0);
}
