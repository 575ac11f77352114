/* SPDX-License-Identifier: Apache-2.0 */
/* cudart - libcudart: start, the kernels of the program, devices, errors. */
#include "tests/fake/cudart_internal.h"

#include <pthread.h>

const struct fake_gpu *gpu;
struct driver driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int start_error = cudaErrorInsufficientDriver;
static __thread int last_error;

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*proc)(const char *, void **, int, uint64_t, int *);
	CUresult (*init)(unsigned) = NULL;

	if (!library)
		return;
	gpu = dlsym(library, "fake_gpu_table");
	*(void **)&proc = dlsym(library, "cuGetProcAddress_v2");
	if (!gpu || !proc)
		return; /* a real driver: not ours to use */
	driver.proc = (void *)proc;
	proc("cuInit", (void **)&init, 2000, 0, NULL);
	proc("cuLaunchKernel", (void **)&driver.launch, 4000, 0, NULL);
	proc("cuLaunchKernel", (void **)&driver.launch_ptsz, 7000, 2, NULL);
	proc("cuLaunchKernelEx", (void **)&driver.launch_ex, 11060, 0, NULL);
	proc("cuLaunchKernelEx", (void **)&driver.launch_ex_ptsz, 11060, 2, NULL);
	proc("cuLaunchCooperativeKernel", (void **)&driver.cooperative, 9000, 0, NULL);
	proc("cuGraphLaunch", (void **)&driver.graph_launch, 10000, 0, NULL);
	start_error = init(0);
}

int rt_start(bool context)
{
	pthread_once(&once, find_driver);
	if (start_error)
		return start_error;
	if (gpu->dead())
		return gpu->dead();
	if (context && !gpu->current(true))
		return cudaErrorInvalidDevice;
	return 0;
}

int rt_keep(int error)
{
	if (error && error != cudaErrorNotReady)
		last_error = error;
	return error;
}

/* ---- kernels ---- */

struct kernel {
	uintptr_t mark; /* ~ its address: a handle of __cudaGetKernel's is known by it */
	struct kernel *next;
	const void *host;
	const char *name;
	CUfunction function;
};

enum { BUCKETS = 512 };
static struct kernel *kernels[BUCKETS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct kernel **bucket(const void *host)
{
	return &kernels[((uintptr_t)host >> 4) % BUCKETS];
}

static struct kernel *find(const void *function)
{
	struct kernel *k;

	for (k = *bucket(function); k && k->host != function; k = k->next)
		;
	if (!k && function &&
	    ((const struct kernel *)function)->mark == ~(uintptr_t)function)
		k = (struct kernel *)function;
	return k;
}

CUfunction rt_kernel(const void *function)
{
	struct kernel *k = find(function);

	if (!k)
		return gpu->is_kernel(function);
	if (!k->function)
		k->function = gpu->kernel(k->name);
	return k->function;
}

const char *rt_name(const void *function)
{
	struct kernel *k = find(function);
	CUfunction f = k || !gpu ? NULL : gpu->is_kernel(function);

	return k ? k->name : f ? f->name : NULL;
}

EXPORT void **__cudaRegisterFatBinary(void *cubin)
{
	void **handle = malloc(sizeof(*handle));

	*handle = cubin;
	return handle;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

EXPORT void __cudaUnregisterFatBinary(void **handle)
{
	free(handle);
}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
				   const char *name, int threads, void *tid, void *bid,
				   void *block, void *grid, int *warp)
{
	struct kernel *k = calloc(1, sizeof(*k));

	(void)handle, (void)device, (void)threads, (void)tid, (void)bid, (void)block;
	(void)grid, (void)warp;
	k->mark = ~(uintptr_t)k;
	k->host = host;
	k->name = strdup(name);
	pthread_mutex_lock(&mutex);
	k->next = *bucket(host);
	*bucket(host) = k;
	pthread_mutex_unlock(&mutex);
}

#if CUDART >= 13
EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *function)
{
	struct kernel *k = find(function);

	*out = (cudaKernel_t)(k ? (const void *)k : function);
	return k ? 0 : cudaErrorInvalidDeviceFunction;
}
#endif

#if CUDART >= 12
EXPORT cudaError_t cudaGetKernel(cudaKernel_t *out, const void *function)
{
	return RT(cudaGetKernel,
		  (*out = rt_kernel(function)) ? 0 : cudaErrorInvalidDeviceFunction);
}

EXPORT cudaError_t cudaFuncGetName(const char **name, const void *function)
{
	return RT(cudaFuncGetName,
		  (*name = rt_name(function)) ? 0 : cudaErrorInvalidDeviceFunction);
}
#endif

/* ---- devices ---- */

EXPORT cudaError_t cudaGetDeviceCount(int *count)
{
	int r = RT_OF(cudaGetDeviceCount, NULL, false, (*count = gpu->devices(), 0));

	if (r)
		*count = 0;
	return r;
}

EXPORT cudaError_t cudaGetDevice(int *device)
{
	return RT_OF(cudaGetDevice, NULL, false, (*device = gpu->wanted_device(), 0));
}

static int set_device(int device)
{
	if (!gpu->device(device))
		return cudaErrorInvalidDevice;
	gpu->want_device(device);
	if (CUDART >= 12)
		gpu->current(true);
	return 0;
}

EXPORT cudaError_t cudaSetDevice(int device)
{
	return RT_OF(cudaSetDevice, NULL, false, set_device(device));
}

EXPORT cudaError_t cudaDeviceSynchronize(void)
{
	return RT(cudaDeviceSynchronize,
		  NESTED(cuCtxSynchronize, gpu->wait_context(gpu->current(true))));
}

EXPORT cudaError_t cudaDeviceReset(void)
{
	return RT(cudaDeviceReset, gpu->wait_context(gpu->current(true)));
}

EXPORT cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	return RT_OF(cudaDeviceGetAttribute, NULL, false,
		     gpu->attribute(value, attribute, device));
}

/* The head that every version's struct has alike. */
struct properties {
	char name[256], uuid[16], luid[8];
	unsigned mask, pad;
	size_t memory, shared_per_block;
	int registers_per_block, warp;
	size_t pitch;
	int threads_per_block, block[3], grid[3];
};

static int properties(struct properties *p, int device)
{
	struct fake_device *d = gpu->device(device);

	if (!d)
		return cudaErrorInvalidDevice;
	*p = (struct properties){ .memory = d->memory,
				  .shared_per_block = 49152,
				  .registers_per_block = 65536,
				  .warp = 32,
				  .threads_per_block = 1024,
				  .block = { 1024, 1024, 64 },
				  .grid = { 0x7fffffff, 65535, 65535 } };
	snprintf(p->name, sizeof(p->name), "%s", d->name);
	return 0;
}

EXPORT cudaError_t cudaGetDeviceProperties(void *out, int device)
{
	return RT_OF(cudaGetDeviceProperties, NULL, false, properties(out, device));
}

#if CUDART == 12
EXPORT cudaError_t cudaGetDeviceProperties_v2(void *out, int device)
{
	return RT_OF(cudaGetDeviceProperties_v2, NULL, false, properties(out, device));
}
#endif

EXPORT cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = CUDART == 11 ? 11080 : CUDART == 12 ? 12080 : 13000;
	return 0;
}

EXPORT cudaError_t cudaDriverGetVersion(int *version)
{
	*version = rt_start(false) == 0 ? (int)gpu->number("FAKE_DRIVER", 13040) : 0;
	return 0;
}

/* ---- errors ---- */

EXPORT cudaError_t cudaGetLastError(void)
{
	int error = last_error;

	if (rt_start(false) == 0)
		RT_OF(cudaGetLastError, NULL, false, 0);
	last_error = 0;
	return error;
}

EXPORT cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

EXPORT const char *cudaGetErrorString(cudaError_t error)
{
	return error ? "an error of the fake GPU" : "no error";
}

EXPORT const char *cudaGetErrorName(cudaError_t error)
{
	return error == 0     ? "cudaSuccess"
	       : error == 600 ? "cudaErrorNotReady"
			      : "cudaErrorFake";
}
