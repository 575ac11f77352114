/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assume_clients - the checks that need more than a launch: parallel branches, the
 * driver's way in, a second client, NCCL.
 *
 * Threads, Memory, Errors, Units   as assume.h.
 */
#ifndef FAKE_ASSUME_CLIENTS_H
#define FAKE_ASSUME_CLIENTS_H

#include "tests/fake/assume.h"

/* ---- 22 ---- */

static const char spin_ptx[] =
	".version 6.4\n.target sm_52\n.address_size 64\n"
	".visible .entry spin(.param .u64 ns)\n{\n"
	".reg .pred %p; .reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [ns]; mov.u64 %d2, %globaltimer;\n"
	"AGAIN: mov.u64 %d3, %globaltimer; sub.s64 %d3, %d3, %d2;\n"
	"setp.lt.u64 %p, %d3, %d1; @%p bra AGAIN; ret;\n}\n";

/* One block that runs for 2 ms. */
static int spin(cudaStream_t stream)
{
	static void *module, *kernel;
	uint64_t ns = 2000000;
	void *args[] = { &ns };
	int error = 0;

	if (!module)
		error = DRV("cuModuleLoadData")(&module, spin_ptx) +
			DRV("cuModuleGetFunction")(&kernel, module, "spin");
	return error ? error
		     : DRV("cuLaunchKernel")(kernel, 1, 1, 1, 32, 1, 1, 0, stream, args,
					     NULL);
}

static int branches(void)
{
	void *graph = NULL, *exec = NULL;
	cudaEvent_t fork = NULL, join = NULL;
	cudaStream_t other = NULL;
	int error = cudaStreamCreate(&other);

	error += RT("cudaEventCreate")(&fork) + RT("cudaEventCreate")(&join);
	error += RT("cudaStreamBeginCapture")(net.stream, 2);
	error += RT("cudaEventRecord")(fork, net.stream);
	error += RT("cudaStreamWaitEvent")(other, fork, 0);
	error += spin(net.stream) + spin(other);
	error += RT("cudaEventRecord")(join, other);
	error += RT("cudaStreamWaitEvent")(net.stream, join, 0);
	error += RT("cudaStreamEndCapture")(net.stream, &graph);
	error += RT("cudaGraphInstantiateWithFlags")(&exec, graph, 0ull);
	return error + RT("cudaGraphLaunch")(exec, net.stream);
}

static const char *a22_parallel_branches(void)
{
	const struct seen *a, *b;
	uint32_t stream;
	int error;

	go(net.stream);
	cudaDeviceSynchronize();
	error = spin(net.stream); /* what loads the module */
	cudaDeviceSynchronize();
	enable(KERNEL);
	enable(RUNTIME);
	error += spin(net.stream);
	done();
	stream = u32(nth(KERNEL, 0), 48);
	error += branches();
	done();
	if (error || count(KERNEL) != 3)
		return say("error %d, %u kernels", error, count(KERNEL));
	a = nth(KERNEL, 1);
	b = nth(KERNEL, 2);
	if (u64(a, 16) >= u64(b, 24) || u64(b, 16) >= u64(a, 24))
		return "one after the other";
	return u32(a, 48) == stream && u32(b, 48) == stream
		       ? NULL
		       : say("on streams %u and %u, launched on %u", u32(a, 48),
			     u32(b, 48), stream);
}

/* ---- 26 ---- */

int assume_inside; /* cuInit is running */

static const char *a26_injection(void)
{
	const char *path = getenv("ASSUME_INJECT");
	const struct {
		int times, inside, context, subscribed;
	} * seen_there;
	void *library;

	if (!path)
		return "?no ASSUME_INJECT";
	assume_inside = 1;
	DRV("cuInit")(0);
	assume_inside = 0;
	library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		return "it is not loaded by cuInit";
	seen_there = dlsym(library, "assume_injected");
	if (seen_there->times != 1 || !seen_there->inside)
		return say("called %d times, inside cuInit: %d", seen_there->times,
			   seen_there->inside);
	if (seen_there->context || seen_there->subscribed)
		return say("a context: %d; cuptiSubscribe there: %d", seen_there->context,
			   seen_there->subscribed);
	DRV("cuInit")(0);
	go(NULL);
	cudaDeviceSynchronize();
	return seen_there->times == 1 ? NULL : say("called %d times", seen_there->times);
}

/* ---- 32 ---- */

static atomic_uint second_requested, second_completed;

static void requested_second(uint8_t **buffer, size_t *size, size_t *most)
{
	second_requested++;
	*most = 0;
	*size = buffer_size;
	*buffer = aligned_alloc(64, buffer_size);
	memset(*buffer, 0, buffer_size);
}

static void completed_second(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid)
{
	(void)context, (void)stream, (void)buffer, (void)size, (void)valid;
	second_completed++;
}

static const char *a32_a_second_client(void)
{
	int error = enable(RUNTIME); /* the first is there, and nobody has subscribed */
	unsigned first;

	go(NULL);
	cudaDeviceSynchronize();
	first = n_requested;
	error += CUPTI("ActivityRegisterCallbacks")(requested_second, completed_second);
	if (error || !first)
		return say("error %d, %u buffers for the first", error, first);
	for (int i = 0; i < 60000; i++) /* 2.4 MB of records: more than its buffer */
		go(NULL);
	done();
	if (n_requested != first || n_completed)
		return say("the first is asked %u times more, gets %u",
			   n_requested - first, n_completed);
	return second_requested && second_completed ? NULL : "the second is not called";
}

/* ---- 35 ---- */

static const char *a35_names_stay(void)
{
	const char *text[2];
	uint64_t at[2];

	enable(KERNEL);
	go(NULL);
	done();
	at[0] = u64(nth(KERNEL, 0), 104);
	for (int i = 0; i < 1000; i++)
		go(net.stream);
	step();
	done();
	go(NULL);
	done();
	at[1] = u64(nth(KERNEL, count(KERNEL) - 1), 104);
	if (count(KERNEL) < 1002 || !at[0])
		return say("%u kernels", count(KERNEL));
	text[0] = (const char *)(uintptr_t)at[0];
	text[1] = (const char *)(uintptr_t)at[1];
	if (strcmp(text[0], UPDATE) != 0)
		return say("the first's is now %.40s", text[0]);
	return at[0] == at[1] ? NULL : say("another place: %.40s", text[1]);
}

/* ---- 43 ---- */

static _Thread_local int runtime_depth;
static atomic_uint alone_calls, nested_calls;

static void on_nccl(void *arg, int domain, uint32_t cbid, const void *data)
{
	int leaving;

	(void)arg;
	memcpy(&leaving, data, sizeof(leaving));
	if (domain == 2)
		runtime_depth += leaving ? -1 : 1;
	else if (cbid == 652 && !leaving && runtime_depth > 0)
		nested_calls++;
	else if (cbid == 652 && !leaving)
		alone_calls++;
}

struct nccl_id {
	char bytes[128];
};
#define NCCL(name, ...) ((int (*)(__VA_ARGS__))symbol(nccl, "nccl" name))

/* One sum over two GPUs, in a group. */
static int sum_up(void *nccl)
{
	void *comm[2] = { NULL }, *memory[2] = { NULL };
	struct nccl_id id;
	int error = NCCL("GetUniqueId", struct nccl_id *)(&id);

	error += NCCL("GroupStart", void)();
	for (int i = 0; i < 2; i++) {
		error += RT("cudaSetDevice")(i) + cudaMalloc(&memory[i], 4096);
		error += NCCL("CommInitRank", void **, int, struct nccl_id,
			      int)(&comm[i], 2, id, i);
	}
	error += NCCL("GroupEnd", void)();
	if (error)
		return error;
	alone_calls = nested_calls = 0;
	error += NCCL("GroupStart", void)();
	for (int i = 0; i < 2; i++) {
		error += RT("cudaSetDevice")(i);
		error += NCCL("AllReduce", const void *, void *, size_t, int, int, void *,
			      cudaStream_t)(memory[i], memory[i], 1024, 7, 0, comm[i],
					    NULL);
	}
	return error + NCCL("GroupEnd", void)();
}

static const char *a43_collectives(void)
{
	const char *path = getenv("NCCL");
	void *nccl = dlopen(path ? path : "libnccl.so.2", RTLD_NOW), *subscriber;
	int devices = 0, error;

	RT("cudaGetDeviceCount")(&devices);
	if (!nccl || devices < 2)
		return nccl ? "?one GPU" : "?no NCCL";
	if (CUPTI("Subscribe")(&subscriber, on_nccl, NULL))
		return "cannot subscribe";
	CUPTI("EnableDomain")(1, subscriber, 2);
	CUPTI("EnableCallback")(1, subscriber, 1, 652);
	error = sum_up(nccl);
	if (error)
		return say("?NCCL: error %d", error);
	return alone_calls >= 2 && !nested_calls
		       ? NULL
		       : say("cuLaunchKernelEx: %u alone, %u inside a runtime call",
			     alone_calls, nested_calls);
}

#endif
