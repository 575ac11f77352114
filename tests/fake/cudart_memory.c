/* SPDX-License-Identifier: Apache-2.0 */
/* cudart_memory - libcudart: memory, copies and sets. */
#include "tests/fake/cudart_internal.h"

struct extent {
	size_t width, height, depth;
};

struct pitched {
	char *ptr;
	size_t pitch, xsize, ysize;
};

struct parameters_3d { /* struct cudaMemcpy3DParms */
	void *from_array;
	size_t from_pos[3];
	struct pitched from;
	void *to_array;
	size_t to_pos[3];
	struct pitched to;
	struct extent extent;
	int kind;
};

struct piece { /* a copy: `height` rows of `width` bytes */
	char *to;
	const char *from;
	size_t to_pitch, from_pitch, width, height;
	int kind, to_device, from_device;
	bool async, per_thread, peer;
};

/* CUPTI's number: 1 HtoD, 2 DtoH, 8 DtoD, 9 HtoH, 10 PtoP. */
static int copy_kind(int kind, int from, int to)
{
	bool from_gpu = from == 3 || from == 5, to_gpu = to == 3 || to == 5;

	switch (kind) {
	case cudaMemcpyHostToHost:
		return 9;
	case cudaMemcpyHostToDevice:
		return 1;
	case cudaMemcpyDeviceToHost:
		return 2;
	case cudaMemcpyDeviceToDevice:
		return 8;
	default:
		return from_gpu ? (to_gpu ? 8 : 2) : to_gpu ? 1 : 9;
	}
}

static const char *driver_name(int kind, bool async)
{
	switch (kind) {
	case 1:
		return async ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyHtoD_v2";
	case 2:
		return async ? "cuMemcpyDtoHAsync_v2" : "cuMemcpyDtoH_v2";
	case 10:
		return async ? "cuMemcpyPeerAsync" : "cuMemcpyPeer";
	default:
		return async ? "cuMemcpyDtoDAsync_v2" : "cuMemcpyDtoD_v2";
	}
}

static int copy(const struct piece *p, CUstream handle)
{
	struct fake_stream *stream = gpu->stream(handle, p->per_thread);
	struct fake_work work = { .kind = WORK_COPY,
				  .stream = stream,
				  .bytes = p->width * p->height,
				  .async = p->async,
				  .peer = p->peer };
	struct fake_call nested = { .domain = DRIVER_API };
	const char *name;
	int r;

	if (!stream || p->kind < 0 || p->kind > 4)
		return stream ? 21 : cudaErrorInvalidResourceHandle;
	work.from_kind = (uint8_t)gpu->memory_kind(p->from);
	work.to_kind = (uint8_t)gpu->memory_kind(p->to);
	work.copy_kind =
		(uint8_t)(p->peer ? 10
				  : copy_kind(p->kind, work.from_kind, work.to_kind));
	if (p->peer) {
		work.from = gpu->primary(p->from_device);
		work.to = gpu->primary(p->to_device);
		if (!work.from || !work.to)
			return cudaErrorInvalidDevice;
	}
	/* All rows but the last here, so that one piece of work stands for them. */
	for (size_t row = 0; p->height > 1 && !stream->capture && row < p->height; row++)
		memmove(p->to + row * p->to_pitch, p->from + row * p->from_pitch,
			p->width);
	name = driver_name(work.copy_kind, p->async);
	nested.function = gpu->function(name);
	r = gpu->enter(&nested, name);
	if (r == 0)
		r = gpu->copy(&work, p->to, p->height > 1 ? p->to : p->from);
	gpu->leave(&nested, r);
	return r;
}

#define FLAT(t, f, n, k, as, pt)            \
	(&(struct piece){ .to = t,          \
			  .from = f,        \
			  .width = n,       \
			  .height = 1,      \
			  .kind = (int)(k), \
			  .async = as,      \
			  .per_thread = pt })
#define ROWS(t, tp, f, fp, w, h, k, as, pt) \
	(&(struct piece){ .to = t,          \
			  .from = f,        \
			  .to_pitch = tp,   \
			  .from_pitch = fp, \
			  .width = w,       \
			  .height = h,      \
			  .kind = (int)(k), \
			  .async = as,      \
			  .per_thread = pt })

static int copy_3d(const struct parameters_3d *p, CUstream stream, bool async, bool pt)
{
	struct piece piece = { .to = p->to.ptr,
			       .from = p->from.ptr,
			       .to_pitch = p->to.pitch,
			       .from_pitch = p->from.pitch,
			       .width = p->extent.width,
			       .height = p->extent.height * p->extent.depth,
			       .kind = p->kind,
			       .async = async,
			       .per_thread = pt };

	return copy(&piece, stream);
}

static int set(void *at, int value, size_t size, CUstream handle, bool pt, bool async)
{
	struct fake_work work = { .kind = WORK_SET,
				  .stream = gpu->stream(handle, pt),
				  .bytes = size,
				  .value = (uint32_t)(uint8_t)value,
				  .async = async };

	if (!work.stream)
		return cudaErrorInvalidResourceHandle;
	work.to_kind = (uint8_t)gpu->memory_kind(at);
	return async ? NESTED(cuMemsetD8Async, gpu->set(&work, at))
		     : NESTED(cuMemsetD8_v2, gpu->set(&work, at));
}

/* Synchronous ones have a _ptds form, the others a _ptsz form. */
#define MEMORY_CALLS(sync, async, pt)                                                    \
	EXPORT cudaError_t cudaMemcpy##sync(void *to, const void *from, size_t size,     \
					    enum cudaMemcpyKind kind)                    \
	{                                                                                \
		return RT(cudaMemcpy##sync,                                              \
			  copy(FLAT(to, from, size, kind, false, pt), NULL));            \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpyAsync##async(void *to, const void *from,            \
						  size_t size, enum cudaMemcpyKind kind, \
						  cudaStream_t stream)                   \
	{                                                                                \
		return RT(cudaMemcpyAsync##async,                                        \
			  copy(FLAT(to, from, size, kind, true, pt), stream));           \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpy2D##sync(void *to, size_t tp, const void *from,     \
					      size_t fp, size_t w, size_t h,             \
					      enum cudaMemcpyKind kind)                  \
	{                                                                                \
		return RT(cudaMemcpy2D##sync,                                            \
			  copy(ROWS(to, tp, from, fp, w, h, kind, false, pt), NULL));    \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpy2DAsync##async(                                     \
		void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h,    \
		enum cudaMemcpyKind kind, cudaStream_t stream)                           \
	{                                                                                \
		return RT(cudaMemcpy2DAsync##async,                                      \
			  copy(ROWS(to, tp, from, fp, w, h, kind, true, pt), stream));   \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpy3D##sync(const struct parameters_3d *p)             \
	{                                                                                \
		return RT(cudaMemcpy3D##sync, copy_3d(p, NULL, false, pt));              \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpy3DAsync##async(const struct parameters_3d *p,       \
						    cudaStream_t stream)                 \
	{                                                                                \
		return RT(cudaMemcpy3DAsync##async, copy_3d(p, stream, true, pt));       \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpyToSymbol##sync(const void *to, const void *from,    \
						    size_t size, size_t offset,          \
						    enum cudaMemcpyKind kind)            \
	{                                                                                \
		return RT(cudaMemcpyToSymbol##sync,                                      \
			  copy(FLAT((char *)to + offset, from, size, kind, false, pt),   \
			       NULL));                                                   \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpyFromSymbol##sync(void *to, const void *from,        \
						      size_t size, size_t offset,        \
						      enum cudaMemcpyKind kind)          \
	{                                                                                \
		return RT(cudaMemcpyFromSymbol##sync,                                    \
			  copy(FLAT(to, (const char *)from + offset, size, kind, false,  \
				    pt),                                                 \
			       NULL));                                                   \
	}                                                                                \
	EXPORT cudaError_t cudaMemset##sync(void *at, int value, size_t size)            \
	{                                                                                \
		return RT(cudaMemset##sync, set(at, value, size, NULL, pt, false));      \
	}                                                                                \
	EXPORT cudaError_t cudaMemsetAsync##async(void *at, int value, size_t size,      \
						  cudaStream_t stream)                   \
	{                                                                                \
		return RT(cudaMemsetAsync##async,                                        \
			  set(at, value, size, stream, pt, true));                       \
	}                                                                                \
	EXPORT cudaError_t cudaMemset2D##sync(void *at, size_t pitch, int value,         \
					      size_t w, size_t h)                        \
	{                                                                                \
		return RT(cudaMemset2D##sync,                                            \
			  set(at, value, h ? pitch * (h - 1) + w : 0, NULL, pt, false)); \
	}                                                                                \
	EXPORT cudaError_t cudaMemset2DAsync##async(void *at, size_t pitch, int value,   \
						    size_t w, size_t h,                  \
						    cudaStream_t stream)                 \
	{                                                                                \
		return RT(                                                               \
			cudaMemset2DAsync##async,                                        \
			set(at, value, h ? pitch * (h - 1) + w : 0, stream, pt, true));  \
	}                                                                                \
	EXPORT cudaError_t cudaMemset3D##sync(struct pitched at, int value,              \
					      struct extent e)                           \
	{                                                                                \
		return RT(cudaMemset3D##sync,                                            \
			  set(at.ptr, value, at.pitch * e.height * e.depth, NULL, pt,    \
			      false));                                                   \
	}                                                                                \
	EXPORT cudaError_t cudaMemset3DAsync##async(                                     \
		struct pitched at, int value, struct extent e, cudaStream_t stream)      \
	{                                                                                \
		return RT(cudaMemset3DAsync##async,                                      \
			  set(at.ptr, value, at.pitch * e.height * e.depth, stream, pt,  \
			      true));                                                    \
	}                                                                                \
	EXPORT cudaError_t cudaMallocAsync##async(void **out, size_t size,               \
						  cudaStream_t stream)                   \
	{                                                                                \
		return RT(cudaMallocAsync##async,                                        \
			  gpu->allocate(out, size, 3, gpu->stream(stream, pt)));         \
	}                                                                                \
	EXPORT cudaError_t cudaMallocFromPoolAsync##async(                               \
		void **out, size_t size, cudaMemPool_t pool, cudaStream_t stream)        \
	{                                                                                \
		(void)pool;                                                              \
		return RT(cudaMallocFromPoolAsync##async,                                \
			  gpu->allocate(out, size, 3, gpu->stream(stream, pt)));         \
	}                                                                                \
	EXPORT cudaError_t cudaFreeAsync##async(void *at, cudaStream_t stream)           \
	{                                                                                \
		return RT(cudaFreeAsync##async,                                          \
			  gpu->release(at, gpu->stream(stream, pt)));                    \
	}
MEMORY_CALLS(, , false)
MEMORY_CALLS(_ptds, _ptsz, true)

static int peer(void *to, int to_device, const void *from, int from_device, size_t size,
		CUstream stream, bool async)
{
	struct piece p = { .to = to,
			   .from = from,
			   .width = size,
			   .height = 1,
			   .kind = cudaMemcpyDeviceToDevice,
			   .to_device = to_device,
			   .from_device = from_device,
			   .async = async,
			   .peer = true };

	return copy(&p, stream);
}

EXPORT cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from,
				  int from_device, size_t size)
{
	return RT(cudaMemcpyPeer,
		  peer(to, to_device, from, from_device, size, NULL, false));
}

EXPORT cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
				       int from_device, size_t size, cudaStream_t stream)
{
	return RT(cudaMemcpyPeerAsync,
		  peer(to, to_device, from, from_device, size, stream, true));
}

EXPORT cudaError_t cudaMalloc(void **out, size_t size)
{
	return RT(cudaMalloc, NESTED(cuMemAlloc_v2, gpu->allocate(out, size, 3, NULL)));
}

EXPORT cudaError_t cudaMallocHost(void **out, size_t size)
{
	return RT(cudaMallocHost, gpu->allocate(out, size, 2, NULL));
}

EXPORT cudaError_t cudaHostAlloc(void **out, size_t size, unsigned flags)
{
	(void)flags;
	return RT(cudaHostAlloc, gpu->allocate(out, size, 2, NULL));
}

EXPORT cudaError_t cudaMallocManaged(void **out, size_t size, unsigned flags)
{
	(void)flags;
	return RT(cudaMallocManaged, gpu->allocate(out, size, 5, NULL));
}

EXPORT cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t w, size_t h)
{
	*pitch = (w + 511) & ~(size_t)511;
	return RT(cudaMallocPitch, gpu->allocate(out, *pitch * h, 3, NULL));
}

EXPORT cudaError_t cudaFree(void *at)
{
	return RT(cudaFree, gpu->release(at, NULL));
}

EXPORT cudaError_t cudaFreeHost(void *at)
{
	return RT(cudaFreeHost, gpu->release(at, NULL));
}

EXPORT cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
	return RT(cudaMemGetInfo,
		  (*total = 80ull << 30, *left = *total - gpu->memory_used(), 0));
}
