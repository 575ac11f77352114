/* SPDX-License-Identifier: Apache-2.0 */
/* cudart_arrays - libcudart: arrays, batches, symbols, registered memory, entries. */
#include "tests/fake/cudart_internal.h"

struct array { /* cudaArray_t: plain rows */
	size_t width, height; /* bytes, rows */
	char *data;
};

/* ---- memory ---- */

static int array_make(struct array **out, const int *bits, size_t width, size_t height)
{
	size_t element = (size_t)(bits[0] + bits[1] + bits[2] + bits[3]) / 8;

	*out = calloc(1, sizeof(**out));
	(*out)->width = width * (element ? element : 1);
	(*out)->height = height ? height : 1;
	return gpu->allocate((void **)&(*out)->data, (*out)->width * (*out)->height, 4,
			     NULL);
}

EXPORT cudaError_t cudaMallocArray(struct array **out, const int *channel, size_t width,
				   size_t height, unsigned flags)
{
	(void)flags;
	return RT(cudaMallocArray, array_make(out, channel, width, height));
}

EXPORT cudaError_t cudaFreeArray(struct array *array)
{
	return RT(cudaFreeArray, array ? gpu->release(array->data, NULL) : 0);
}

struct pitched {
	void *ptr;
	size_t pitch, xsize, ysize;
};

struct extent {
	size_t width, height, depth;
};

EXPORT cudaError_t cudaMalloc3D(struct pitched *out, struct extent e)
{
	out->pitch = (e.width + 511) & ~(size_t)511;
	out->xsize = e.width;
	out->ysize = e.height;
	return RT(cudaMalloc3D,
		  gpu->allocate(&out->ptr, out->pitch * e.height * e.depth, 3, NULL));
}

EXPORT cudaError_t cudaHostRegister(void *at, size_t size, unsigned flags)
{
	(void)at, (void)size, (void)flags;
	return RT(cudaHostRegister, 0);
}

EXPORT cudaError_t cudaHostUnregister(void *at)
{
	(void)at;
	return RT(cudaHostUnregister, 0);
}

/* ---- copies ---- */

/* kind is CUPTI's: 1 HtoD, 2 DtoH, 3 HtoA, 4 AtoH, 5 AtoA, 6 AtoD, 7 DtoA, 8 DtoD. */
static int copy(void *to, const void *from, size_t size, int kind, CUstream stream,
		bool per_thread, bool async)
{
	struct fake_work work = { .kind = WORK_COPY,
				  .stream = gpu->stream(stream, per_thread),
				  .bytes = size,
				  .copy_kind = (uint8_t)kind,
				  .async = async };

	if (!work.stream)
		return cudaErrorInvalidResourceHandle;
	work.from_kind = (uint8_t)gpu->memory_kind(from);
	work.to_kind = (uint8_t)gpu->memory_kind(to);
	return gpu->copy(&work, to, from);
}

static char *row(const struct array *a, size_t x, size_t y)
{
	return a->data + y * a->width + x;
}

#define ARRAY_CALLS(sync, async, pt)                                                     \
	EXPORT cudaError_t cudaMemcpyToArray##sync(struct array *to, size_t x, size_t y, \
						   const void *from, size_t size,        \
						   int kind)                             \
	{                                                                                \
		(void)kind;                                                              \
		return RT(cudaMemcpyToArray##sync,                                       \
			  copy(row(to, x, y), from, size, 3, NULL, pt, false));          \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpyFromArray##sync(void *to, const struct array *from, \
						     size_t x, size_t y, size_t size,    \
						     int kind)                           \
	{                                                                                \
		(void)kind;                                                              \
		return RT(cudaMemcpyFromArray##sync,                                     \
			  copy(to, row(from, x, y), size, 4, NULL, pt, false));          \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpy2DToArray##sync(                                    \
		struct array *to, size_t x, size_t y, const void *from, size_t pitch,    \
		size_t w, size_t h, int kind)                                            \
	{                                                                                \
		(void)kind, (void)pitch;                                                 \
		return RT(cudaMemcpy2DToArray##sync,                                     \
			  copy(row(to, x, y), from, w * h, 3, NULL, pt, false));         \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpy2DFromArray##sync(                                  \
		void *to, size_t pitch, const struct array *from, size_t x, size_t y,    \
		size_t w, size_t h, int kind)                                            \
	{                                                                                \
		(void)kind, (void)pitch;                                                 \
		return RT(cudaMemcpy2DFromArray##sync,                                   \
			  copy(to, row(from, x, y), w * h, 4, NULL, pt, false));         \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpyToArrayAsync##async(                                \
		struct array *to, size_t x, size_t y, const void *from, size_t size,     \
		int kind, CUstream stream)                                               \
	{                                                                                \
		(void)kind;                                                              \
		return RT(cudaMemcpyToArrayAsync##async,                                 \
			  copy(row(to, x, y), from, size, 3, stream, pt, true));         \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpyToSymbolAsync##async(void *to, const void *from,    \
							  size_t size, size_t offset,    \
							  int kind, CUstream stream)     \
	{                                                                                \
		return RT(cudaMemcpyToSymbolAsync##async,                                \
			  copy((char *)to + offset, from, size, kind == 3 ? 8 : 1,       \
			       stream, pt, true));                                       \
	}                                                                                \
	EXPORT cudaError_t cudaMemcpyFromSymbolAsync##async(void *to, const void *from,  \
							    size_t size, size_t offset,  \
							    int kind, CUstream stream)   \
	{                                                                                \
		return RT(cudaMemcpyFromSymbolAsync##async,                              \
			  copy(to, (const char *)from + offset, size, kind == 3 ? 8 : 2, \
			       stream, pt, true));                                       \
	}
ARRAY_CALLS(, , false)
ARRAY_CALLS(_ptds, _ptsz, true)

#if CUDART >= 12
static int batch(void *const *to, const void *const *from, const size_t *size, size_t n,
		 CUstream stream, bool per_thread)
{
	int r = 0;

	if ((uintptr_t)stream <= 1 && !per_thread)
		return cudaErrorInvalidValue; /* not on the legacy stream */
	for (size_t i = 0; i < n && r == 0; i++)
		r = copy((void *)to[i], from[i], size[i], 8, stream, per_thread, true);
	return r;
}

/* 12.8 has failIdx before the stream, 13 has not. */
#if CUDART == 12
#define FAIL    size_t *fail,
#define NO_FAIL *fail = SIZE_MAX
#else
#define FAIL
#define NO_FAIL (void)0
#endif
#define BATCH(suffix, pt)                                                               \
	EXPORT cudaError_t cudaMemcpyBatchAsync##suffix(                                \
		void *const *to, const void *const *from, const size_t *size, size_t n, \
		void *attributes, size_t *which, size_t n_attributes, FAIL CUstream s)  \
	{                                                                               \
		(void)attributes, (void)which, (void)n_attributes;                      \
		NO_FAIL;                                                                \
		return RT(cudaMemcpyBatchAsync##suffix,                                 \
			  batch(to, from, size, n, s, pt));                             \
	}
BATCH(, false)
BATCH(_ptsz, true)
#endif

/* ---- capture ---- */

EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(int *mode)
{
	return RT(cudaThreadExchangeStreamCaptureMode, (*mode = 0, 0));
}

/* ---- the driver's functions ---- */

static int entry(const char *symbol, void **out, int version, unsigned long long flags,
		 int *status)
{
	static CUresult (*proc)(const char *, void **, int, uint64_t, int *);
	int found = 0;

	if (!proc)
		*(void **)&proc = driver.proc;
	if (proc(symbol, out, version, flags, &found) != 0 || !*out)
		found = 1;
	if (status)
		*status = found;
	return found && !status ? 500 : 0;
}

#if CUDART == 11
#define ENTRY(suffix, more)                                               \
	EXPORT cudaError_t cudaGetDriverEntryPoint##suffix(               \
		const char *symbol, void **out, unsigned long long flags) \
	{                                                                 \
		return RT(cudaGetDriverEntryPoint##suffix,                \
			  entry(symbol, out, 11080, flags | more, NULL)); \
	}
#else
#define ENTRY(suffix, more)                                                            \
	EXPORT cudaError_t cudaGetDriverEntryPoint##suffix(                            \
		const char *symbol, void **out, unsigned long long flags, int *status) \
	{                                                                              \
		return RT(cudaGetDriverEntryPoint##suffix,                             \
			  entry(symbol, out, 12000, flags | more, status));            \
	}                                                                              \
	EXPORT cudaError_t cudaGetDriverEntryPointByVersion##suffix(                   \
		const char *symbol, void **out, unsigned version,                      \
		unsigned long long flags, int *status)                                 \
	{                                                                              \
		return RT(cudaGetDriverEntryPointByVersion##suffix,                    \
			  entry(symbol, out, (int)version, flags | more, status));     \
	}
#endif
ENTRY(, 0)
ENTRY(_ptsz, 2)

/* ---- what nvcc's stubs also call ---- */

EXPORT char __cudaInitModule(void **handle)
{
	(void)handle;
	return 0;
}

EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
			      int external, size_t size, int constant, int global)
{
	(void)handle, (void)host, (void)device, (void)name, (void)external, (void)size;
	(void)constant, (void)global;
}
