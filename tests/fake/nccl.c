/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl - libnccl.so.2: collectives as kernels of the fake GPU. As in the real one ncclX
 * is a weak name of pncclX, libcuda is found by dlopen, and the kernels are launched by
 * the driver's cuLaunchKernelEx, at the call or, in a group, at its end.
 */
#include "tests/fake/cudart.h"
#include "tests/fake/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef int ncclResult_t; /* 0; 2 a system error, 4 invalid argument */
typedef struct fake_comm {
	int rank, size, device;
} * ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;

static const size_t type_size[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

static const struct fake_gpu *gpu;
static CUresult (*launch_ex)(const CUlaunchConfig *, CUfunction, void **, void **);

enum { MAX_PENDING = 256 };
static __thread int depth;
static __thread struct pending {
	char name[96];
	size_t bytes;
	CUstream stream;
} pending[MAX_PENDING];
static __thread int n_pending;

static int start(void)
{
	void *library;

	if (launch_ex)
		return 0;
	library = dlopen("libcuda.so.1", RTLD_NOW);
	gpu = library ? dlsym(library, "fake_gpu_table") : NULL;
	if (!gpu)
		return 2;
	*(void **)&launch_ex = dlsym(library, "cuLaunchKernelEx");
	return launch_ex ? 0 : 2;
}

static ncclResult_t launch(const struct pending *p)
{
	CUlaunchConfig config = { 16, 1, 1, 512, 1, 1, 0, p->stream, NULL, 0 };

	return launch_ex(&config, gpu->kernel(p->name), NULL, NULL) == 0 ? 0 : 1;
}

static ncclResult_t collective(const char *what, const void *from, void *to, size_t count,
			       int type, ncclComm_t comm, CUstream stream)
{
	struct pending p = { .stream = stream };

	if (start() != 0)
		return 2;
	if (type < 0 || type > 11 || !comm)
		return 4;
	if (gpu->error(what, -1))
		return gpu->error(what, -1);
	p.bytes = count * type_size[type];
	snprintf(p.name, sizeof(p.name),
		 "_Z%zuncclDevKernel_%s24ncclDevKernelArgsStorageILm4096EE",
		 strlen("ncclDevKernel_") + strlen(what), what);
	if (from && to && from != to)
		memmove(to, from, p.bytes);
	if (depth == 0)
		return launch(&p);
	if (n_pending == MAX_PENDING)
		return 2;
	pending[n_pending++] = p;
	return 0;
}

#define NCCL(name, params)                                                 \
	__attribute__((visibility("default"), weak, alias("pnccl" #name))) \
	ncclResult_t nccl##name params;                                    \
	EXPORT ncclResult_t pnccl##name params

NCCL(GetVersion, (int *version))
{
	*version = 22707;
	return 0;
}

NCCL(GetUniqueId, (ncclUniqueId * id))
{
	memset(id, 7, sizeof(*id));
	return 0;
}

NCCL(CommInitRank, (ncclComm_t * out, int size, ncclUniqueId id, int rank))
{
	(void)id;
	if (start() != 0 || rank < 0 || rank >= size)
		return start() ? 2 : 4;
	*out = calloc(1, sizeof(**out));
	**out = (struct fake_comm){ rank, size, gpu->wanted_device() };
	return 0;
}

NCCL(CommInitRankConfig,
     (ncclComm_t * out, int size, ncclUniqueId id, int rank, void *config))
{
	(void)config;
	return pncclCommInitRank(out, size, id, rank);
}

NCCL(CommDestroy, (ncclComm_t comm))
{
	free(comm);
	return 0;
}

NCCL(CommAbort, (ncclComm_t comm))
{
	free(comm);
	return 0;
}

NCCL(CommCount, (ncclComm_t comm, int *count))
{
	*count = comm->size;
	return 0;
}

NCCL(CommUserRank, (ncclComm_t comm, int *rank))
{
	*rank = comm->rank;
	return 0;
}

NCCL(CommCuDevice, (ncclComm_t comm, int *device))
{
	*device = comm->device;
	return 0;
}

NCCL(CommGetAsyncError, (ncclComm_t comm, ncclResult_t *error))
{
	(void)comm;
	*error = 0;
	return 0;
}

NCCL(GroupStart, (void))
{
	depth++;
	return 0;
}

NCCL(GroupEnd, (void))
{
	ncclResult_t r = 0;

	if (depth == 0)
		return 4;
	if (--depth > 0)
		return 0;
	for (int i = 0; i < n_pending && r == 0; i++)
		r = launch(&pending[i]);
	n_pending = 0;
	return r;
}

NCCL(AllReduce, (const void *from, void *to, size_t count, int type, int op,
		 ncclComm_t comm, CUstream stream))
{
	(void)op;
	return collective("AllReduce_Sum_f32_RING_LL", from, to, count, type, comm,
			  stream);
}

NCCL(Broadcast, (const void *from, void *to, size_t count, int type, int root,
		 ncclComm_t comm, CUstream stream))
{
	(void)root;
	return collective("Broadcast_RING_LL", from, to, count, type, comm, stream);
}

NCCL(Bcast,
     (void *at, size_t count, int type, int root, ncclComm_t comm, CUstream stream))
{
	(void)root;
	return collective("Broadcast_RING_LL", at, at, count, type, comm, stream);
}

NCCL(Reduce, (const void *from, void *to, size_t count, int type, int op, int root,
	      ncclComm_t comm, CUstream stream))
{
	(void)op, (void)root;
	return collective("Reduce_Sum_f32_RING_LL", from, to, count, type, comm, stream);
}

NCCL(AllGather, (const void *from, void *to, size_t count, int type, ncclComm_t comm,
		 CUstream stream))
{
	return collective("AllGather_RING_LL", from, to, count, type, comm, stream);
}

NCCL(ReduceScatter, (const void *from, void *to, size_t count, int type, int op,
		     ncclComm_t comm, CUstream stream))
{
	(void)op;
	return collective("ReduceScatter_Sum_f32_RING_LL", from, to, count, type, comm,
			  stream);
}

NCCL(AlltoAll, (const void *from, void *to, size_t count, int type, ncclComm_t comm,
		CUstream stream))
{
	return collective("SendRecv", from, to, count, type, comm, stream);
}

NCCL(Gather, (const void *from, void *to, size_t count, int type, int root,
	      ncclComm_t comm, CUstream stream))
{
	(void)root;
	return collective("SendRecv", from, to, count, type, comm, stream);
}

NCCL(Scatter, (const void *from, void *to, size_t count, int type, int root,
	       ncclComm_t comm, CUstream stream))
{
	(void)root;
	return collective("SendRecv", from, to, count, type, comm, stream);
}

NCCL(Send,
     (const void *from, size_t count, int type, int to, ncclComm_t comm, CUstream stream))
{
	(void)to;
	return collective("SendRecv", from, NULL, count, type, comm, stream);
}

NCCL(Recv, (void *at, size_t count, int type, int from, ncclComm_t comm, CUstream stream))
{
	(void)from;
	return collective("SendRecv", NULL, at, count, type, comm, stream);
}

EXPORT const char *ncclGetErrorString(ncclResult_t error)
{
	return error ? "an error of the fake NCCL" : "no error";
}
