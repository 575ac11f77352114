/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for the fake GPU; the word says which. */
#include "tests/fake/cudart.h"
#include "tests/fake/fake.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                                        \
	do {                                               \
		int result = (call);                       \
		if (result) {                              \
			printf("%s: %d\n", #call, result); \
			exit(2);                           \
		}                                          \
	} while (0)

typedef struct {
	char internal[128];
} ncclUniqueId;

int ncclGetUniqueId(ncclUniqueId *id);
int ncclCommInitRank(void **comm, int size, ncclUniqueId id, int rank);
int ncclCommDestroy(void *comm);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *comm,
		  cudaStream_t stream);
int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root,
	       void *comm, cudaStream_t stream);
int ncclSend(const void *from, size_t count, int type, int peer, void *comm,
	     cudaStream_t stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int pncclCommInitRank(void **comm, int size, ncclUniqueId id, int rank);

FAKE_KERNEL(vecadd, "_Z6vecaddPfi")
FAKE_KERNEL(scale, "_Z5scalePff")

static void totals(void)
{
	struct fake_totals t;

	cudaDeviceSynchronize();
	fake_totals(&t);
	printf("kernels %lu copies %lu graphs %lu\n", (unsigned long)t.kernels,
	       (unsigned long)t.copies, (unsigned long)t.graph_launches);
}

static void launches(cudaStream_t stream, int n)
{
	dim3 grid = { 7, 2, 3 }, block = { 64, 2, 1 };
	float a = 0;
	void *args[] = { &a };

	for (int i = 0; i < n; i++)
		CHECK(cudaLaunchKernel((void *)vecadd, grid, block, args, 512, stream));
}

static cudaStream_t new_stream(void)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	return stream;
}

/* Every way to launch: the kernel's name is found in each. */
static void names(void)
{
	dim3 one = { 1, 1, 1 };
	cudaStream_t stream = new_stream();
	cudaLaunchConfig_t config = { one, one, 0, stream, NULL, 0 };
	CUlaunchConfig driver = { 1, 1, 1, 1, 1, 1, 0, stream, NULL, 0 };
	CUresult (*get)(const char *, void **, int, uint64_t, int *);
	CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
			   unsigned, unsigned, cudaStream_t, void **, void **);
	cudaKernel_t kernel;
	CUfunction other = fake_kernel("_Z5otherv", NULL);
	void *args[] = { &one };

	CHECK(cudaLaunchKernel((void *)vecadd, one, one, args, 0, stream));
	CHECK(cudaLaunchKernelExC(&config, (void *)scale, args));
	CHECK(__cudaGetKernel(&kernel, (void *)vecadd));
	CHECK(__cudaLaunchKernel(kernel, one, one, args, 0, stream));
	CHECK(cuLaunchKernel(other, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
	CHECK(cuLaunchKernelEx(&driver, other, args, NULL));
	*(void **)&get = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
	CHECK(get("cuLaunchKernel", (void **)&launch, 12000, 0, NULL));
	CHECK(launch(other, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
	errno = 5;
	printf("%d %d\n", cudaLaunchKernel(NULL, one, one, args, 0, stream), errno);
	printf("last error %d\n", cudaGetLastError());
	totals();
}

static void estimate(void)
{
	cudaStream_t stream = new_stream();

	launches(stream, 301);
	CHECK(cudaStreamSynchronize(stream));
	launches(stream, 99);
	totals();
	printf("last error %d\n", cudaGetLastError());
}

static void legacy(void)
{
	launches(NULL, 250);
	totals();
}

static void capture(void)
{
	cudaStream_t stream = new_stream();
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	launches(stream, 1);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	launches(stream, 150);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	launches(stream, 250);
	totals();
}

static void collectives(void)
{
	cudaStream_t stream = new_stream();
	static float data[64];
	ncclUniqueId id;
	void *comm, *hidden;

	CHECK(ncclGetUniqueId(&id));
	CHECK(ncclCommInitRank(&comm, 4, id, 3));
	CHECK(pncclCommInitRank(&hidden, 8, id, 2)); /* as if before us */
	CHECK(ncclAllReduce(data, data, 64, 7, 0, comm, stream));
	CHECK(ncclReduce(data, data, 32, 7, 0, 1, hidden, stream));
	CHECK(ncclGroupStart());
	CHECK(ncclSend(data, 16, 0, 2, comm, stream));
	CHECK(ncclGroupEnd());
	printf("%d\n", ncclAllReduce(data, data, 64, 99, 0, comm, stream));
	CHECK(ncclCommDestroy(comm));
	totals();
}

/* A child forgets; CUDA does not work there, with or without us. */
static void child(void)
{
	int status;

	launches(new_stream(), 5);
	if (fork() == 0)
		_exit(cudaMalloc(&(void *){ NULL }, 8) ? 7 : 8);
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
	totals();
}

static void *ends_inside(void *count)
{
	launches(new_stream(), 1);
	CHECK(cudaDeviceSynchronize()); /* sleeps: canceled there */
	++*(int *)count;
	return NULL;
}

static void cancel(void)
{
	int count = 0;
	void *result;
	pthread_t t;

	fake_set("FAKE_KERNEL_NS", "400000000");
	pthread_create(&t, NULL, ends_inside, &count);
	usleep(50000);
	pthread_cancel(t);
	pthread_join(t, &result);
	printf("%s %d\n", result == PTHREAD_CANCELED ? "canceled" : "returned", count);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *word;
		void (*run)(void);
	} all[] = { { "names", names },   { "estimate", estimate },
		    { "legacy", legacy }, { "capture", capture },
		    { "child", child },   { "collectives", collectives },
		    { "cancel", cancel } };

	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].word, argv[1])) {
			all[i].run();
			return 0;
		}
	return 1;
}
