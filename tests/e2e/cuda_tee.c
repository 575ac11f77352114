/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_tee MODE - a program with a profiler of its own inside, as PyTorch's is: linked to
 * libcupti, buffers by malloc, kinds on and off, ids pushed around calls. Every record
 * that it gets is a line: all its fields by name, times only as "there" or "not there",
 * threads and processes as whose they are. Run by test_cuda_tee.py alone and under us:
 * both must print the same.
 */
#include "tests/e2e/cuda_tee_profiler.h"
#include "tests/fake/cudart.h"

FAKE_KERNEL(first, "_Z5firstPf")
FAKE_KERNEL(second, "_Z6secondPfi")
FAKE_KERNEL(between, "_Z7betweenv")

/* ---- the work ---- */

static void *memory;

static void launch(const void *kernel, unsigned blocks)
{
	must("launch", cudaLaunchKernel(kernel, (dim3){ blocks, 1, 1 },
					(dim3){ 64, 2, 1 }, NULL, 16, 0));
}

static void work(unsigned steps)
{
	static char host[4096];
	int device;

	for (unsigned i = 0; i < steps; i++) {
		uint64_t id;

		cuptiActivityPushExternalCorrelationId(3, 1000 + i);
		cudaGetDevice(&device);
		cudaMemcpyAsync(memory, host, 100 + i, cudaMemcpyHostToDevice, 0);
		launch(first, 1 + i);
		cuptiActivityPushExternalCorrelationId(4, 2000 + i);
		launch(second, 10 + i);
		cuptiActivityPopExternalCorrelationId(4, &id);
		cudaMemsetAsync(memory, 7, 200 + i, 0);
		cuptiActivityPopExternalCorrelationId(3, &id);
		usleep(2000); /* windows of ours come and go */
	}
	cudaDeviceSynchronize();
}

/* Two kernels, launched five times as a graph. */
static void graphs(void)
{
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;

	cudaStreamCreate(&stream);
	must("begin", cudaStreamBeginCapture(stream, 0));
	cudaLaunchKernel(first, (dim3){ 3, 1, 1 }, (dim3){ 64, 1, 1 }, NULL, 0, stream);
	cudaLaunchKernel(second, (dim3){ 4, 1, 1 }, (dim3){ 64, 1, 1 }, NULL, 0, stream);
	must("end", cudaStreamEndCapture(stream, &graph));
	must("instantiate", cudaGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < 5; i++) {
		must("graph", cudaGraphLaunch(exec, stream));
		launch(between, 2);
		usleep(2000);
	}
	cudaStreamSynchronize(stream);
	cudaDeviceSynchronize();
	cudaGraphExecDestroy(exec);
	cudaGraphDestroy(graph);
}

static void outside(void)
{
	for (int i = 0; i < 5; i++) {
		launch(between, 1);
		cudaDeviceSynchronize();
		usleep(1000);
	}
}

/* As torch.profiler: warm-up thrown away, a session, a pause, a second one. */
static void sessions(void)
{
	uint32_t version = 0;
	size_t dropped = 0;

	cuptiGetVersion(&version);
	outside();
	start(KINDS(MEMCPY, MEMSET, CONCURRENT, EXTERNAL, RUNTIME, DRIVER, OVERHEAD));
	if (version >= SINGLE_CALLS) {
		must("call", cuptiActivityEnableRuntimeApi(GET_DEVICE, 0));
		must("call", cuptiActivityEnableRuntimeApi(SET_ASYNC, 0));
	}
	work(20);
	must("flush", cuptiActivityFlushAll(0));
	printf("-- flushed\n");
	work(20);
	stop(KINDS(MEMCPY, MEMSET, CONCURRENT, EXTERNAL, RUNTIME, DRIVER, OVERHEAD));
	outside();
	start(KINDS(CONCURRENT, SYNC));
	work(10);
	stop(KINDS(CONCURRENT, SYNC));
	outside();
	must("dropped", cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	printf("-- %zu dropped\n", dropped);
}

/* Their kernels one by one, then as a whole, then one by one again; and nobody's. */
static void graph_sessions(void)
{
	graphs();
	start(KINDS(CONCURRENT, RUNTIME));
	graphs();
	stop(KINDS(CONCURRENT, RUNTIME));
	graphs();
	start(KINDS(CONCURRENT, GRAPH));
	graphs();
	must("disable", cuptiActivityDisable(GRAPH));
	graphs();
	stop(KINDS(CONCURRENT));
}

/* Copies and sets in graphs, of a client that wants no kernels. */
static void graph_copies(void)
{
	cudaGraph_t graph = NULL;
	cudaGraphExec_t exec = NULL;
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	must("capture", cudaStreamBeginCapture(stream, 2));
	must("set", cudaMemsetAsync(memory, 1, 512, stream));
	must("copy", cudaMemcpyAsync(memory, (char *)memory + 4096, 256, 3, stream));
	must("end", cudaStreamEndCapture(stream, &graph));
	must("instantiate", cudaGraphInstantiateWithFlags(&exec, graph, 0));
	cudaDeviceSynchronize();
	start(KINDS(MEMCPY, MEMSET, RUNTIME));
	for (int i = 0; i < 5; i++)
		must("graph", cudaGraphLaunch(exec, stream));
	cudaDeviceSynchronize();
	stop(KINDS(MEMCPY, MEMSET, RUNTIME));
}

static void system_ids(void)
{
	must("ids", cuptiSetThreadIdType(1));
	start(KINDS(RUNTIME, CONCURRENT));
	work(10);
	stop(KINDS(RUNTIME, CONCURRENT));
}

/* Buffers of 4 KiB, three of them, then none: what is lost is told. */
static void small(void)
{
	size_t dropped = 0;

	buffer_size = 4096;
	refuse_after = 3;
	start(KINDS(CONCURRENT));
	work(50);
	stop(KINDS(CONCURRENT));
	must("dropped", cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	printf("-- %lu records, lost: %s\n", lines, dropped ? "yes" : "no");
	fprintf(stderr, "%zu\n", lines + dropped);
}

static uint64_t ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 3 * ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) + 12345;
}

/* Times by a clock of its own: three ticks for each ns. */
static void clocks(void)
{
	own_clock = ticks;
	must("clock", cuptiActivityRegisterTimestampCallback(ticks));
	clock_from = ticks();
	start(KINDS(RUNTIME, CONCURRENT, MEMCPY, MEMSET));
	work(30);
	stop(KINDS(RUNTIME, CONCURRENT, MEMCPY, MEMSET));
	printf("-- %u times too early or too late\n", out_of_time);
	fprintf(stderr, "%u\n", in_time);
}

static _Atomic unsigned calls[8];

static void called_back(void *arg, int domain, uint32_t id, const void *data)
{
	(void)id;
	(void)data;
	wrong += arg != (void *)calls;
	calls[domain & 7]++;
}

static void print_calls(const char *when)
{
	printf("%s: driver %u, runtime %u, others %u\n", when, calls[1], calls[2],
	       calls[3] + calls[4] + calls[5] + calls[6]);
	memset((void *)calls, 0, sizeof(calls));
}

static void subscriber(void)
{
	void *handle = NULL, *another = NULL;

	must("subscribe", cuptiSubscribe(&handle, called_back, calls));
	must("a second one", cuptiSubscribe(&another, called_back, calls));
	outside();
	print_calls("nothing on");
	must("domain", cuptiEnableDomain(1, handle, 2));
	outside();
	print_calls("runtime on");
	must("domain", cuptiEnableDomain(0, handle, 2));
	outside();
	print_calls("off");
	must("domain", cuptiEnableDomain(1, handle, 2));
	must("unsubscribe", cuptiUnsubscribe(handle));
	outside();
	print_calls("gone");
	must("subscribe", cuptiSubscribe(&handle, called_back, calls));
	must("unsubscribe", cuptiUnsubscribe(handle));
}

/* The second interface, found by name as Python's ctypes does: its place is ours. */
static void interface_2(void)
{
	struct {
		size_t size;
		const char *name;
		char *owner;
		size_t owner_size;
	} params = { sizeof(params), "another profiler", NULL, 0 };
	void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD), *handle = NULL;
	int (*subscribe)(void **, callback_fn, void *, void *) =
		(int (*)(void **, callback_fn, void *, void *))dlsym(library,
								     "cuptiSubscribe_v2");

	outside();
	must("subscribe", subscribe(&handle, called_back, calls, &params));
	must("domain", cuptiEnableDomain(1, handle, 2));
	outside();
	print_calls("runtime on");
	must("unsubscribe", cuptiUnsubscribe(handle));
	outside();
}

/* TEARDOWN_CUPTI: ends CUPTI between two sessions. */
static void teardown(void)
{
	for (int i = 0; i < 2; i++) {
		start(KINDS(RUNTIME, CONCURRENT));
		work(20);
		stop(KINDS(RUNTIME, CONCURRENT));
		must("finalize", cuptiFinalize());
		outside();
		work(20);
	}
}

static void serial(void)
{
	start(KINDS(KERNEL)); /* one at a time: cannot be on beside the other kind */
	work(10);
	stop(KINDS(KERNEL));
	work(600);
}

static void free_all(void)
{
	for (int i = 0; i < MOST; i++)
		free(mine[i]); /* large: unmapped at once */
}

/* It goes as it is, as a profiler does whose program forgot it. */
static void forgotten(void)
{
	atexit(free_all);
	start(KINDS(RUNTIME, CONCURRENT, MEMCPY));
	work(10);
}

static void flush_all(void)
{
	must("flush", cuptiActivityFlushAll(1));
	printf("-- %lu records at the end\n", lines);
}

/* As CUPTI's samples: what is left is fetched by a handler of exit. */
static void at_exit(void)
{
	atexit(flush_all);
	start(KINDS(RUNTIME, CONCURRENT));
	work(10);
}

static void *worker(void *arg)
{
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (int i = 0; i < 200; i++)
		must("launch", cudaLaunchKernel(first, (dim3){ 1, 1, 1 },
						(dim3){ (unsigned)(uintptr_t)arg, 1, 1 },
						NULL, 0, stream));
	cudaStreamSynchronize(stream);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[16];

	start(KINDS(CONCURRENT, RUNTIME));
	for (uintptr_t i = 0; i < 16; i++)
		pthread_create(&thread[i], NULL, worker, (void *)(i + 1));
	for (int i = 0; i < 16; i++)
		pthread_join(thread[i], NULL);
	stop(KINDS(CONCURRENT, RUNTIME));
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "sessions", sessions },     { "system_ids", system_ids },
	{ "small", small },           { "clocks", clocks },
	{ "subscriber", subscriber }, { "teardown", teardown },
	{ "forgotten", forgotten },   { "at_exit", at_exit },
	{ "serial", serial },         { "interface_2", interface_2 },
	{ "threads", threads },       { "none", outside },
	{ "graphs", graph_sessions }, { "graph_copies", graph_copies },
};

int main(int argc, char **argv)
{
	struct fake_totals totals;

	text_start();
	must("malloc", cudaMalloc(&memory, 1 << 20));
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(argv[1], modes[i].name))
			modes[i].run();
	printf("-- %u buffers not ours, %u not returned\n", wrong, asked - returned);
	fake_totals(&totals);
	fprintf(stderr, "kernels %llu\n", (unsigned long long)totals.kernels);
	return 0;
}
