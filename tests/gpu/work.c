/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work MODE N [M] - what plain CUDA programs do, for the checks on a GPU; answers in
 * JSON.
 *
 * The kernels, and how they come in without nvcc, are those of examples/cuda_train.c.
 * Linked against libcudart; the driver is opened at run time.
 */
#define main example_main
#include "examples/cuda_train.c"
#undef main

#include "agent/proflaunch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

extern cudaError_t cudaGetDevice(int *device);
extern cudaError_t cudaDeviceReset(void); /* by name: a static runtime's are hidden */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void mark(void)
{
	if (proflaunch_step)
		proflaunch_step();
}

/* A kernel that leaves at once: n = 0. */
static void empty(cudaStream_t stream)
{
	const dim3 one = { 1, 1, 1 }, block = { 32, 1, 1 };
	float rate = 0;
	int none = 0;
	void *args[] = { &net.weights, &net.gradient, &rate, &none };

	cudaLaunchKernel((const void *)update, one, block, args, 0, stream);
}

#define CUDA(result, name, ...)                           \
	({                                                \
		result (*f)(__VA_ARGS__) = NULL;          \
		*(void **)&f = dlsym(RTLD_DEFAULT, name); \
		f;                                        \
	})

static double per_launch(int launches)
{
	uint64_t begin = now();

	for (int n = 0; n < launches; n++) {
		empty(net.stream);
		if (n % 512 == 511)
			begin += ({
				uint64_t before = now();
				cudaStreamSynchronize(net.stream);
				now() - before;
			});
	}
	return (double)(now() - begin) / launches;
}

/* N launches a round, M rounds; a step each, with time for others in between. */
static void mode_launch(int launches, int rounds)
{
	printf("{\"rounds\": [");
	for (int r = 0; r < rounds; r++) {
		usleep(100000);
		printf("%s%.1f", r ? ", " : "", per_launch(launches));
		cudaDeviceSynchronize();
		usleep(100000);
		mark();
	}
	printf("]}\n");
}

/* A call that launches nothing. */
static void mode_getters(int calls, int rounds)
{
	int device;

	printf("{\"rounds\": [");
	for (int r = 0; r < rounds; r++) {
		uint64_t begin = now();

		for (int n = 0; n < calls; n++)
			cudaGetDevice(&device);
		printf("%s%.1f", r ? ", " : "", (double)(now() - begin) / calls);
		usleep(100000);
		mark();
	}
	printf("]}\n");
}

/* The training steps of the example. */
static void mode_train(int steps, int unused)
{
	(void)unused;
	for (int n = 0; n < steps; n++) {
		step();
		mark();
	}
	printf("{\"steps\": %d, \"loss\": %.6f, \"slope\": %.3f, \"offset\": %.3f}\n",
	       steps, net.seen[0] / POINTS, net.seen[1], net.seen[2]);
}

/* An executable graph of that many kernels; launched once. */
static void *graph_of(int nodes, int *error)
{
	int (*instantiate)(void **, void *, unsigned long long) =
		CUDA(int, "cudaGraphInstantiateWithFlags", void **, void *,
		     unsigned long long);
	void *graph = NULL, *exec = NULL;

	*error = CUDA(int, "cudaStreamBeginCapture", cudaStream_t, int)(net.stream, 2);
	for (int n = 0; n < nodes; n++)
		empty(net.stream);
	*error += CUDA(int, "cudaStreamEndCapture", cudaStream_t, void **)(net.stream,
									   &graph);
	*error += instantiate(&exec, graph, 0);
	*error += CUDA(int, "cudaGraphLaunch", void *, cudaStream_t)(exec, net.stream);
	cudaStreamSynchronize(net.stream);
	return exec;
}

static double replay(void *exec, int launches)
{
	int (*launch_graph)(void *, cudaStream_t) =
		CUDA(int, "cudaGraphLaunch", void *, cudaStream_t);
	uint64_t begin = now();

	for (int n = 0; n < launches; n++)
		launch_graph(exec, net.stream);
	cudaStreamSynchronize(net.stream);
	return (double)(now() - begin) / launches / 1e3;
}

/* A graph of N kernels, launched M times. */
static void mode_graph(int nodes, int launches)
{
	int error;
	void *exec = graph_of(nodes, &error);

	mark();
	printf("{\"error\": %d, \"us per launch\": %.2f}\n", error,
	       replay(exec, launches));
	mark();
}

static double free_mb(void)
{
	size_t left = 0, all = 0;

	CUDA(int, "cudaMemGetInfo", size_t *, size_t *)(&left, &all);
	return (double)left / (1 << 20);
}

/* A graph of 1,000 kernels, launched N times in each of M rounds; what is left of the
 * GPU's memory is read while whoever records still holds what it holds. */
static void mode_graph_long(int launches, int rounds)
{
	double before = free_mb();
	int error;
	void *exec = graph_of(1000, &error);

	printf("{\"error\": %d, \"free MiB before\": %.1f, \"rounds\": [", error, before);
	mark();
	for (int r = 0; r < rounds; r++) {
		double us = replay(exec, launches);

		printf("%s[%.2f, %.1f]", r ? ", " : "", us, free_mb());
		mark();
	}
	printf("]}\n");
}

#include "tests/gpu/work_all.h"

static void *one_thread(void *arg)
{
	for (int n = *(int *)arg; n > 0; n--)
		empty(NULL);
	return NULL;
}

static void mode_threads(int each, int count)
{
	pthread_t threads[256];
	uint64_t begin = now();

	for (int t = 0; t < count && t < 256; t++)
		pthread_create(&threads[t], NULL, one_thread, &each);
	for (int t = 0; t < count && t < 256; t++)
		pthread_join(threads[t], NULL);
	cudaDeviceSynchronize();
	printf("{\"ns per launch\": %.1f}\n", (double)(now() - begin) / each / count);
	sleep(1); /* what comes back of threads that have ended comes now */
	empty(net.stream);
	cudaDeviceSynchronize();
}

static _Atomic uint64_t busy_until, busy_launched;

static void *busy_thread(void *arg)
{
	unsigned n = 0;

	while (now() < busy_until) {
		empty(NULL);
		if (++n % 512 == 0)
			cudaStreamSynchronize(NULL);
	}
	busy_launched += n;
	return arg;
}

/* Launches without a pause for N ms, on M threads. */
static void mode_busy(int ms, int count)
{
	pthread_t threads[64];

	busy_until = now() + (uint64_t)ms * 1000000;
	for (int t = 0; t < count && t < 64; t++)
		pthread_create(&threads[t], NULL, busy_thread, NULL);
	for (int t = 0; t < count && t < 64; t++)
		pthread_join(threads[t], NULL);
	cudaDeviceSynchronize();
	printf("{\"launched\": %lu}\n", busy_launched);
}

/* How a program may end: 0 return, 1 exit, 2 _exit, 3 cudaDeviceReset, 4 abort; 10 and
 * more: the same without waiting for the GPU. */
static void mode_leave(int launches, int how)
{
	for (int n = 0; n < launches; n++)
		empty(net.stream);
	printf("{\"launched\": %d}\n", launches);
	fflush(stdout);
	if (how < 10)
		cudaDeviceSynchronize();
	if (how % 10 == 1)
		exit(0);
	if (how % 10 == 2)
		_exit(0);
	if (how % 10 == 3)
		cudaDeviceReset();
	if (how % 10 == 4)
		abort();
}

/* The driver's own launch, by dlsym: as Triton does it. */
static void mode_driver(int launches, int rounds)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*load)(void **, const void *) = NULL,
					(*function)(void **, void *, const char *) = NULL;
	int (*launch_kernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
			     unsigned, unsigned, cudaStream_t, void **, void **) = NULL;
	void *module = NULL, *kernel = NULL;
	float rate = 0;
	int none = 0, error;
	void *args[] = { &net.weights, &net.gradient, &rate, &none };

	*(void **)&load = dlsym(driver, "cuModuleLoadData");
	*(void **)&function = dlsym(driver, "cuModuleGetFunction");
	*(void **)&launch_kernel = dlsym(driver, "cuLaunchKernel");
	error = load(&module, ptx) + function(&kernel, module, UPDATE);
	printf("{\"error\": %d, \"rounds\": [", error);
	for (int r = 0; r < rounds; r++) {
		uint64_t begin = now();

		for (int n = 0; n < launches && !error; n++)
			launch_kernel(kernel, 1, 1, 1, 32, 1, 1, 0, net.stream, args,
				      NULL);
		printf("%s%.1f", r ? ", " : "", (double)(now() - begin) / launches);
		cudaDeviceSynchronize();
		mark();
	}
	printf("]}\n");
}

/* For other programs that load this as a library: ns per launch, then the end of a step.
 */
__attribute__((visibility("default"))) double work_round(int launches)
{
	static int started;
	double ns;

	if (!started++) {
		register_kernels();
		start();
		empty(net.stream);
	}
	cudaDeviceSynchronize();
	ns = per_launch(launches);
	cudaDeviceSynchronize();
	return ns;
}

__attribute__((visibility("default"))) void work_mark(void)
{
	mark();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int, int);
	} modes[] = { { "launch", mode_launch },         { "getters", mode_getters },
		      { "train", mode_train },           { "graph", mode_graph },
		      { "threads", mode_threads },       { "leave", mode_leave },
		      { "driver", mode_driver },         { "all", mode_all },
		      { "graph_long", mode_graph_long }, { "busy", mode_busy } };
	int n = argc > 2 ? atoi(argv[2]) : 1, m = argc > 3 ? atoi(argv[3]) : 1;

	register_kernels();
	start();
	empty(net.stream);
	cudaDeviceSynchronize();
	for (size_t k = 0; argc > 1 && k < sizeof(modes) / sizeof(*modes); k++)
		if (!strcmp(argv[1], modes[k].name))
			modes[k].run(n, m);
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "leave") && !getenv("BARE_FLUSH"))
		usleep(500000); /* whoever records gets its buffers in time */
	return 0;
}
