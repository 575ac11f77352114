/* SPDX-License-Identifier: Apache-2.0 */
/* work_all - the mode of work.c that does something of everything CUPTI has a kind for.
 */
#ifndef GPU_WORK_ALL_H
#define GPU_WORK_ALL_H

/* A second context's memory, a peer's copy: with two GPUs. */
static void peers(void)
{
	int (*set)(int) = CUDA(int, "cudaSetDevice", int);
	void *there = NULL, *here = NULL;
	int n = 0;

	CUDA(int, "cudaGetDeviceCount", int *)(&n);
	if (n < 2)
		return;
	cudaMalloc(&here, 4096);
	set(1);
	cudaMalloc(&there, 4096);
	CUDA(int, "cudaMemcpyPeer", void *, int, const void *, int, size_t)
	(there, 1, here, 0, 4096);
	cudaFree(there);
	set(0);
	cudaFree(here);
}

static void memory_of_all_kinds(void)
{
	int (*later)(void **, size_t, cudaStream_t) =
		CUDA(int, "cudaMallocAsync", void **, size_t, cudaStream_t);
	int (*managed)(void **, size_t, unsigned) =
		CUDA(int, "cudaMallocManaged", void **, size_t, unsigned);
	void *p = NULL;

	if (later && !later(&p, 1 << 20, net.stream))
		CUDA(int, "cudaFreeAsync", void *, cudaStream_t)(p, net.stream);
	if (managed && !managed(&p, 1 << 20, 1)) {
		memset(p, 1, 1 << 20);
		cudaMemsetAsync(p, 0, 1 << 20, net.stream);
		cudaStreamSynchronize(net.stream);
		cudaFree(p);
	}
}

/* Something of everything that CUPTI has a kind for, N times. */
static void mode_all(int rounds, int unused)
{
	int (*wait)(cudaStream_t, cudaEvent_t, unsigned) =
		CUDA(int, "cudaStreamWaitEvent", cudaStream_t, cudaEvent_t, unsigned);
	int error = 0;

	(void)unused;
	for (int n = 0; n < rounds; n++) {
		cudaEvent_t event = NULL;
		cudaStream_t other = NULL;

		step();
		CUDA(int, "cudaEventCreate", cudaEvent_t *)(&event);
		cudaStreamCreate(&other);
		CUDA(int, "cudaEventRecord", cudaEvent_t, cudaStream_t)
		(event, net.stream);
		wait(other, event, 0);
		empty(other);
		CUDA(int, "cudaEventSynchronize", cudaEvent_t)(event);
		CUDA(int, "cudaEventQuery", cudaEvent_t)(event);
		CUDA(int, "cudaStreamQuery", cudaStream_t)(other);
		cudaStreamSynchronize(other);
		cudaStreamDestroy(other);
		memory_of_all_kinds();
		cudaDeviceSynchronize();
		mark();
	}
	replay(graph_of(3, &error), 3);
	peers();
	printf("{\"error\": %d}\n", error);
}

#endif
