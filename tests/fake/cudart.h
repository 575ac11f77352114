/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudart - the part of the CUDA runtime and driver that test programs call, declared
 * without any CUDA header; also what the fake libraries implement.
 *
 * Threads  any.
 * Memory   "device" memory is host memory: copies copy, kernels' bodies may use it.
 * Errors   the real codes (the few that occur are named below).
 * Units    as CUDA.
 */
#ifndef FAKE_CUDART_H
#define FAKE_CUDART_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int cudaError_t; /* 0; 1 invalid value; 3 not initialised; 4 unloading ... */
typedef int CUresult;
typedef struct fake_stream *cudaStream_t;
typedef struct fake_event *cudaEvent_t;
typedef struct fake_graph *cudaGraph_t;
typedef struct fake_exec *cudaGraphExec_t;
typedef struct fake_node *cudaGraphNode_t;
typedef struct fake_function *cudaKernel_t;
typedef struct fake_pool *cudaMemPool_t;
typedef struct fake_context *CUcontext;
typedef struct fake_function *CUfunction;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef void (*cudaHostFn_t)(void *);

enum {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorInitializationError = 3,
	cudaErrorCudartUnloading = 4,
	cudaErrorInsufficientDriver = 35,
	cudaErrorInvalidDeviceFunction = 98,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorNotReady = 600,
	cudaErrorStreamCaptureUnsupported = 900,
	cudaErrorStreamCaptureInvalidated = 901,
	cudaErrorUnknown = 999,
};

enum cudaMemcpyKind {
	cudaMemcpyHostToHost,
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice,
	cudaMemcpyDefault
};
enum { cudaStreamDefault, cudaStreamNonBlocking };
enum { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal };
enum { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };

#ifndef __CUDACC__
typedef struct dim3_ {
	unsigned x, y, z;
} dim3;
#endif

typedef struct { /* as both flavours: 56 bytes */
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	void *attrs;
	unsigned numAttrs;
} cudaLaunchConfig_t;

typedef struct {
	unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ;
	unsigned sharedMemBytes;
	cudaStream_t hStream;
	void *attrs;
	unsigned numAttrs;
} CUlaunchConfig;

/* ---- device, memory ---- */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaMalloc(void **out, size_t size);
cudaError_t cudaMallocHost(void **out, size_t size);
cudaError_t cudaHostAlloc(void **out, size_t size, unsigned flags);
cudaError_t cudaMallocManaged(void **out, size_t size, unsigned flags);
cudaError_t cudaMallocAsync(void **out, size_t size, cudaStream_t stream);
cudaError_t cudaFree(void *at);
cudaError_t cudaFreeHost(void *at);
cudaError_t cudaFreeAsync(void *at, cudaStream_t stream);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);

/* ---- copies, sets ---- */
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
			    enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
			   size_t size);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
				int from_device, size_t size, cudaStream_t stream);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			 size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
			      size_t from_pitch, size_t width, size_t height,
			      enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void *at, int value, size_t size);
cudaError_t cudaMemsetAsync(void *at, int value, size_t size, cudaStream_t stream);
cudaError_t cudaMemset2D(void *at, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset2DAsync(void *at, size_t pitch, int value, size_t width,
			      size_t height, cudaStream_t stream);

/* ---- launches ---- */
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
			     size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared, cudaStream_t stream); /* 13 */
cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *function); /* 12, 13 */
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
				void **args); /* from 11.8 */
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
					void **args, size_t shared, cudaStream_t stream);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaFuncGetName(const char **name, const void *function); /* from 12 */
void **__cudaRegisterFatBinary(void *cubin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device,
			    const char *name, int threads, void *tid, void *bid,
			    void *block, void *grid, int *warp);

/* ---- streams, events, graphs ---- */
cudaError_t cudaStreamCreate(cudaStream_t *out);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, int *status);
cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
					  unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

/* ---- driver ---- */
CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuDeviceGet(CUdevice *out, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *out);
CUresult cuCtxSynchronize(void);
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
			unsigned bx, unsigned by, unsigned bz, unsigned shared,
			cudaStream_t stream, void **args, void **extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **args,
			  void **extra);
CUresult cuFuncGetName(const char **name, CUfunction function);
CUresult cuStreamSynchronize(cudaStream_t stream);
CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
			     int *status);

#ifdef __cplusplus
}
#endif

/*
 * FAKE_KERNEL(stub, "_Z6vecaddPfi") defines what nvcc leaves of a kernel in an object: a
 * host stub whose address stands for it, registered under its mangled name when the
 * object is loaded. Launch it by cudaLaunchKernel(stub, ...).
 */
#define FAKE_KERNEL(stub, mangled)                                                       \
	static void stub(void)                                                           \
	{                                                                                \
		__asm__ volatile("" ::"r"(mangled));                                     \
	}                                                                                \
	__attribute__((constructor)) static void stub##_register(void)                   \
	{                                                                                \
		static char name[] = mangled;                                            \
		static void *image[3];                                                   \
		void **handle = __cudaRegisterFatBinary(image);                          \
		__cudaRegisterFunction(handle, (const char *)stub, name, name, -1, 0, 0, \
				       0, 0, 0);                                         \
		__cudaRegisterFatBinaryEnd(handle);                                      \
	}

#endif
