/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assume_launch - the second half of assume.c's checks: graphs, ids, clocks, calls.
 *
 * Threads, Memory, Errors, Units   as assume.h.
 */
#ifndef FAKE_ASSUME_LAUNCH_H
#define FAKE_ASSUME_LAUNCH_H

#include "tests/fake/assume.h"

static int tell; /* where a check that ends by itself answers */

/* Two kernels in a graph, launched twice. */
static int launch_graph(void)
{
	void *graph = NULL, *exec = NULL;
	int error = RT("cudaStreamBeginCapture")(net.stream, 2);

	go(net.stream);
	go(net.stream);
	error += RT("cudaStreamEndCapture")(net.stream, &graph);
	error += RT("cudaGraphInstantiateWithFlags")(&exec, graph, 0ull);
	error += RT("cudaGraphLaunch")(exec, net.stream);
	error += RT("cudaGraphLaunch")(exec, net.stream);
	done();
	return error;
}

static const char *a20_whole_graphs(void)
{
	go(NULL);
	cudaDeviceSynchronize();
	enable(KERNEL);
	enable(RUNTIME);
	enable(GRAPH);
	if (launch_graph())
		return "cannot make a graph";
	if (count(GRAPH) != 2 || count(KERNEL) != 0)
		return say("%u graph records, %u kernels", count(GRAPH), count(KERNEL));
	return u32(nth(GRAPH, 0), 4) == u32(call(311), 32) ? NULL : "another id";
}

static const char *a21_graph_nodes(void)
{
	go(NULL);
	cudaDeviceSynchronize();
	enable(KERNEL);
	enable(RUNTIME);
	if (launch_graph())
		return "cannot make a graph";
	if (count(KERNEL) != 4)
		return say("%u kernels", count(KERNEL));
	for (unsigned i = 0; i < 4; i++) {
		const struct seen *k = nth(KERNEL, i);

		if (!u64(k, 144) || !u32(k, 156))
			return "a node or graph id is 0";
		if (i && i % 2 && u64(k, 144) == u64(nth(KERNEL, i - 1), 144))
			return "two nodes have one id";
	}
	return u32(nth(KERNEL, 0), 92) == u32(call(311), 32) ? NULL : "another id";
}

static const char *a23_stream_ids(void)
{
	enable(KERNEL);
	go(NULL);
	go(net.stream);
	done();
	if (u32(nth(KERNEL, 0), 48) != 7 || u32(nth(KERNEL, 1), 48) != 13)
		return say("streams %u and %u", u32(nth(KERNEL, 0), 48),
			   u32(nth(KERNEL, 1), 48));
	return NULL;
}

static const char *a24_contexts(void)
{
	void *context = NULL;
	int runtime = 0;

	RT("cudaRuntimeGetVersion")(&runtime);
	RT("cudaSetDevice")(0);
	DRV("cuCtxGetCurrent")(&context);
	return (context != NULL) == (runtime >= 12000)
		       ? NULL
		       : say("runtime %d: context %p", runtime, context);
}

static const char *a25_dumps(void)
{
	go(NULL);
	cudaDeviceSynchronize();
	CUPTI("ActivityEnableAndDump")(DEVICE);
	CUPTI("ActivityEnableAndDump")(CONTEXT);
	CUPTI("ActivityEnableAndDump")(STREAM);
	done();
	flush(1);
	return count(DEVICE) && count(CONTEXT) && count(STREAM)
		       ? NULL
		       : say("%u devices, %u contexts, %u streams", count(DEVICE),
			     count(CONTEXT), count(STREAM));
}

static void at_the_end(void)
{
	flush(1);
	usleep(100000);
	if (n_seen)
		dprintf(tell, "%u records came", n_seen);
	else
		dprintf(tell, "ok");
	_exit(0);
}

static const char *a27_exit_handlers(void)
{
	atexit(at_the_end); /* before CUDA's own: runs after them */
	enable(RUNTIME);
	go(NULL);
	cudaDeviceSynchronize();
	exit(0);
}

static const char *a28_fork(void)
{
	int status = 0;
	pid_t pid;
	void *memory;

	go(NULL);
	cudaDeviceSynchronize();
	pid = fork();
	if (pid == 0)
		_exit(cudaMalloc(&memory, 100) & 255);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 3 ? NULL
							     : say("status %d", status);
}

static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *a29_clock(void)
{
	uint64_t before, shown = 0, after;

	enable(KERNEL);
	enable(RUNTIME);
	go(NULL);
	cudaDeviceSynchronize();
	before = realtime();
	CUPTI("GetTimestamp")(&shown);
	after = realtime();
	if (shown + 1000 < before || shown > after + 1000)
		return say("%jd ns off", (intmax_t)(shown - before));
	before = realtime();
	go(NULL);
	cudaDeviceSynchronize();
	after = realtime();
	done();
	if (u64(nth(KERNEL, 1), 16) + 2000 < before ||
	    u64(nth(KERNEL, 1), 24) > after + 2000)
		return say("a kernel began %jd ns after its launch",
			   (intmax_t)(u64(nth(KERNEL, 1), 16) - before));
	return NULL;
}

static uint64_t own_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *a30_own_clock(void)
{
	uint64_t before, after;

	CUPTI("ActivityRegisterTimestampCallback")(own_clock);
	go(NULL);
	cudaDeviceSynchronize();
	enable(KERNEL);
	enable(RUNTIME);
	before = own_clock();
	go(NULL);
	cudaDeviceSynchronize();
	after = own_clock();
	done();
	if (u64(call(211), 8) < before || u64(call(211), 16) > after)
		return "a call has another clock";
	return u64(nth(KERNEL, 0), 16) + 10000 > before &&
			       u64(nth(KERNEL, 0), 24) < after + 10000
		       ? NULL
		       : "a kernel has another clock";
}

static void ignore(void *arg, int domain, uint32_t cbid, const void *data)
{
	(void)arg, (void)domain, (void)cbid, (void)data;
}

static const char *a31_one_subscriber(void)
{
	void *first, *second;
	int r;

	if (CUPTI("Subscribe")(&first, ignore, NULL))
		return "cannot subscribe";
	r = CUPTI("Subscribe")(&second, ignore, NULL);
	return r == 39 ? NULL : say("returns %d", r);
}

static const char *a34_lazy_loading(void)
{
	if (version() < 21)
		return "?before 12.3";
	enable(OVERHEAD);
	go(NULL);
	done();
	flush(1);
	for (unsigned i = 0; i < count(OVERHEAD); i++)
		if (u32(nth(OVERHEAD, i), 4) == 5u << 16)
			return NULL;
	return say("%u others", count(OVERHEAD));
}

static const char *a36_external_ids(void)
{
	const struct seen *e, *c;

	enable(RUNTIME);
	enable(EXTERNAL);
	go(NULL);
	CUPTI("ActivityPushExternalCorrelationId")(3, (uint64_t)77);
	RT("cudaFree")(NULL);
	CUPTI("ActivityPopExternalCorrelationId")(3, NULL);
	done();
	e = nth(EXTERNAL, 0);
	c = call(22);
	if (count(EXTERNAL) != 1 || u64(e, 8) != 77 || u32(e, 16) != u32(c, 32))
		return say("%u records", count(EXTERNAL));
	return e < c ? NULL : "it comes after its call";
}

static cudaEvent_t event_there(void)
{
	cudaEvent_t event = NULL;

	go(NULL);
	RT("cudaEventCreate")(&event);
	RT("cudaEventRecord")(event, net.stream);
	return event;
}

static const char *a37_stream_waits(void)
{
	enable(SYNC);
	RT("cudaStreamWaitEvent")(NULL, event_there(), 0);
	done();
	for (unsigned i = 0; i < count(SYNC); i++)
		if (u32(nth(SYNC, i), 4) == 2)
			return u32(nth(SYNC, i), 36) ? NULL : "no event id";
	return "no such record";
}

static const char *a38_queries(void)
{
	unsigned n;

	go(NULL);
	cudaDeviceSynchronize();
	enable(SYNC);
	RT("cudaStreamQuery")(net.stream);
	flush(0);
	flush(1);
	usleep(20000);
	n = version() < 26 ? 0 : 1;
	return count(SYNC) == n ? NULL : say("%u records", count(SYNC));
}

static const char *a39_new_launch(void)
{
	const dim3 one = { 1, 1, 1 };
	float rate = 0;
	int none = 0;
	void *args[] = { &net.weights, &net.gradient, &rate, &none };
	void *kernel = NULL;
	int (*launch_it)(void *, dim3, dim3, void **, size_t, cudaStream_t);

	go(NULL);
	cudaDeviceSynchronize();
	enable(RUNTIME);
	RT("__cudaGetKernel")(&kernel, (void *)update);
	*(void **)&launch_it = symbol(NULL, "__cudaLaunchKernel");
	if (missing)
		return "?before CUDA 13";
	launch_it(kernel, one, one, args, 0, NULL);
	done();
	if (call(211)->kind)
		return "cbid 211";
	return call(505)->kind ? NULL : "no record";
}

static const char *a40_last_error(void)
{
	enable(RUNTIME);
	go(NULL);
	RT("cudaGetLastError")();
	done();
	return call(10)->kind ? NULL : "no record";
}

static const char *a19_peer_copies(void)
{
	int devices = 0;
	void *a = NULL, *b = NULL;

	RT("cudaGetDeviceCount")(&devices);
	if (devices < 2)
		return "?one GPU";
	enable(MEMCPY);
	cudaMalloc(&a, 4096);
	RT("cudaSetDevice")(1);
	cudaMalloc(&b, 4096);
	RT("cudaMemcpyPeer")(b, 1, a, 0, (size_t)4096);
	done();
	return count(22) ? NULL : "no such record";
}

static const char *a33_finalize(void)
{
	unsigned n, back;

	enable(RUNTIME);
	go(NULL);
	cudaDeviceSynchronize();
	back = n_completed;
	CUPTI("Finalize")();
	if (n_completed != back)
		return "it hands buffers back";
	n = n_requested;
	go(NULL);
	cudaDeviceSynchronize();
	return n_requested == n ? NULL : "buffers are asked for after it";
}

static const char *a41_get_kernel(void)
{
	void *kernel = NULL;

	if (RT("__cudaGetKernel")(&kernel, (void *)update) || missing)
		return missing ? "?before CUDA 13"
			       : "it fails without a driver call before";
	if (kernel == (void *)update)
		return "the handle is the host stub";
	go(NULL);
	cudaDeviceSynchronize();
	enable(RUNTIME);
	RT("__cudaGetKernel")(&kernel, (void *)forward);
	flush(0);
	flush(1);
	usleep(20000);
	return count(RUNTIME) == 0 ? NULL : say("cbid %u", u32(nth(RUNTIME, 0), 4));
}

static const char *a42_synchronous_copies(void)
{
	static char to[64];

	go(NULL);
	enable(MEMCPY);
	RT("cudaMemcpy")(to, net.weights, (size_t)4, 2);
	flush(0);
	usleep(20000);
	if (!count(MEMCPY))
		return "its record is not complete";
	return nth(MEMCPY, 0)->bytes[7] == 0 ? NULL : "flags";
}

static const char *a44_event_times(void)
{
	if (version() < 26)
		return "?before 12.8";
	enable(EVENT);
	event_there();
	done();
	flush(1);
	if (!count(EVENT))
		return "no record";
	return u64(nth(EVENT, 0), 40) == 0 ? NULL : "it has one";
}

#endif
