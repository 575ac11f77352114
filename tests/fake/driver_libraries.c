/* SPDX-License-Identifier: Apache-2.0 */
/* driver_libraries - libcuda.so.1: libraries, capture, per-thread forms, old names. */
#include "tests/fake/driver_internal.h"

struct fake_library { /* what cuLibraryLoadData gives */
	const void *image;
};

EXPORT CUresult cuLibraryLoadData(struct fake_library **out, const void *image, void *a,
				  void *b, unsigned c, void *d, void *e, unsigned f)
{
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	*out = calloc(1, sizeof(**out));
	return CALL(cuLibraryLoadData, ((*out)->image = image, 0));
}

EXPORT CUresult cuLibraryUnload(struct fake_library *library)
{
	(void)library;
	return CALL(cuLibraryUnload, 0);
}

/* A CUkernel is a CUfunction here. */
EXPORT CUresult cuLibraryGetKernel(CUfunction *out, struct fake_library *library,
				   const char *name)
{
	(void)library;
	return CALL(cuLibraryGetKernel, (*out = device_kernel(name), 0));
}

EXPORT CUresult cuKernelGetFunction(CUfunction *out, CUfunction kernel)
{
	return CALL(cuKernelGetFunction, (*out = kernel, 0));
}

EXPORT CUresult cuKernelGetName(const char **name, CUfunction kernel)
{
	return CALL(cuKernelGetName, (*name = kernel->name, 0));
}

EXPORT CUresult cuModuleLoadDataEx(struct fake_module **out, const void *image,
				   unsigned n, void *options, void *values)
{
	(void)image, (void)n, (void)options, (void)values;
	return CALL(cuModuleLoadDataEx, (*out = calloc(1, 8), 0));
}

static int reset(CUdevice device)
{
	struct fake_device *d = device_get(device);

	if (!d)
		return cudaErrorInvalidDevice;
	return d->primary ? time_wait_context(d->primary) : 0;
}

EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
	return CALL(cuDevicePrimaryCtxReset, reset(device));
}

EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	return CALL(cuDevicePrimaryCtxReset_v2, reset(device));
}

EXPORT CUresult cuCtxDestroy(CUcontext context)
{
	return CALL(cuCtxDestroy, time_wait_context(context));
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	return CALL(cuCtxPushCurrent_v2, (device_make_current(context), 0));
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
	if (out)
		*out = device_current(false);
	return CALL(cuCtxPopCurrent_v2, (device_make_current(NULL), 0));
}

EXPORT CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
	static __thread int now;
	int before = now;

	return CALL(cuThreadExchangeStreamCaptureMode, (now = *mode, *mode = before, 0));
}

/* ---- as they are, and on the thread's own stream ---- */

static int copy(CUdeviceptr to, CUdeviceptr from, size_t size, int kind, CUstream stream,
		bool pt, bool async)
{
	struct fake_work work = { .kind = WORK_COPY,
				  .stream = device_stream(stream, pt),
				  .bytes = size,
				  .copy_kind = (uint8_t)kind,
				  .async = async };

	work.from_kind = (uint8_t)memory_kind((void *)from);
	work.to_kind = (uint8_t)memory_kind((void *)to);
	return time_copy(&work, (void *)to, (void *)from);
}

#define COPY(name, kind)                                                              \
	EXPORT CUresult name##_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t size) \
	{                                                                             \
		return CALL(name##_v2_ptds,                                           \
			    copy(to, from, size, kind, NULL, true, false));           \
	}                                                                             \
	EXPORT CUresult name##Async_v2_ptsz(CUdeviceptr to, CUdeviceptr from,         \
					    size_t size, CUstream stream)             \
	{                                                                             \
		return CALL(name##Async_v2_ptsz,                                      \
			    copy(to, from, size, kind, stream, true, true));          \
	}
COPY(cuMemcpyHtoD, 1)
COPY(cuMemcpyDtoH, 2)
COPY(cuMemcpyDtoD, 8)

#define CAPTURE(suffix, begin, pt)                                                       \
	EXPORT CUresult begin(CUstream stream, int mode)                                 \
	{                                                                                \
		(void)mode;                                                              \
		return CALL(begin, graph_capture_begin(device_stream(stream, pt)));      \
	}                                                                                \
	EXPORT CUresult cuStreamEndCapture##suffix(CUstream stream, CUgraph *out)        \
	{                                                                                \
		return CALL(cuStreamEndCapture##suffix,                                  \
			    graph_capture_end(device_stream(stream, pt), out));          \
	}                                                                                \
	EXPORT CUresult cuStreamIsCapturing##suffix(CUstream stream, int *status)        \
	{                                                                                \
		return CALL(cuStreamIsCapturing##suffix,                                 \
			    (*status = device_stream(stream, pt)->capture != NULL, 0));  \
	}                                                                                \
	EXPORT CUresult cuEventRecord##suffix(struct fake_event *event, CUstream stream) \
	{                                                                                \
		return CALL(cuEventRecord##suffix,                                       \
			    time_record(event, device_stream(stream, pt)));              \
	}                                                                                \
	EXPORT CUresult cuStreamWaitEvent##suffix(                                       \
		CUstream stream, struct fake_event *event, unsigned flags)               \
	{                                                                                \
		(void)flags;                                                             \
		return CALL(cuStreamWaitEvent##suffix,                                   \
			    time_stream_waits(device_stream(stream, pt), event));        \
	}
CAPTURE(, cuStreamBeginCapture_v2, false)
CAPTURE(_ptsz, cuStreamBeginCapture_v2_ptsz, true)
