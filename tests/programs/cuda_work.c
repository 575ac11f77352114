/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_work MODE N - what CUDA programs do, N steps of it, and what came of it.
 *
 * The runtime is opened at run time (CUDART names it) and its functions are looked up
 * in the global scope, so that whoever stands in front of them is called. Prints the
 * number of calls and of those that failed, which must not depend on being watched.
 */
#include "agent/proflaunch.h"
#include "tests/fake/fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct dim3 {
	unsigned x, y, z;
};
typedef void *stream_t;

/* X(name, parameters) - everything used of the runtime. */
#define RUNTIME(X)                                                              \
	X(cudaMalloc, (void **, size_t))                                        \
	X(cudaFree, (void *))                                                   \
	X(cudaMallocHost, (void **, size_t))                                    \
	X(cudaMemcpyAsync, (void *, const void *, size_t, int, stream_t))       \
	X(cudaMemsetAsync, (void *, int, size_t, stream_t))                     \
	X(cudaLaunchKernel,                                                     \
	  (const void *, struct dim3, struct dim3, void **, size_t, stream_t))  \
	X(cudaStreamCreate, (stream_t *))                                       \
	X(cudaStreamSynchronize, (stream_t))                                    \
	X(cudaDeviceSynchronize, (void))                                        \
	X(cudaSetDevice, (int))                                                 \
	X(cudaStreamBeginCapture, (stream_t, int))                              \
	X(cudaStreamEndCapture, (stream_t, void **))                            \
	X(cudaEventCreate, (void **))                                           \
	X(cudaEventRecord, (void *, stream_t))                                  \
	X(cudaStreamWaitEvent, (stream_t, void *, unsigned))                    \
	X(cudaGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
	X(cudaGraphLaunch, (void *, stream_t))
#define POINTER(name, parameters) static int(*p_##name) parameters;
RUNTIME(POINTER)

static void **(*register_binary)(void *);
static void (*register_end)(void **);
static void (*register_function)(void **, const char *, char *, const char *, int, void *,
				 void *, void *, void *, int *);

static _Atomic unsigned long calls, failed, first_error;

static void count(int error)
{
	unsigned long none = 0;

	calls++;
	if (!error)
		return;
	failed++;
	atomic_compare_exchange_strong(&first_error, &none, (unsigned long)error);
}
#define DO(name, ...) count(p_##name(__VA_ARGS__))

static void alpha(void)
{
}

static void beta(void)
{
}

static void gamma_(void)
{
}

static void find(void)
{
	const char *path = getenv("CUDART");
	void *runtime = dlopen(path ? path : "libcudart.so", RTLD_NOW | RTLD_GLOBAL);

	if (!runtime) {
		fprintf(stderr, "cuda_work: %s\n", dlerror());
		exit(77);
	}
#define FIND(name, parameters) *(void **)&p_##name = dlsym(RTLD_DEFAULT, #name);
	RUNTIME(FIND)
	*(void **)&register_binary = dlsym(RTLD_DEFAULT, "__cudaRegisterFatBinary");
	*(void **)&register_end = dlsym(RTLD_DEFAULT, "__cudaRegisterFatBinaryEnd");
	*(void **)&register_function = dlsym(RTLD_DEFAULT, "__cudaRegisterFunction");
}

static void register_kernels(void)
{
	static struct {
		unsigned magic, version;
		const void *image;
		void *more;
	} wrapper = { 0x466243b1, 1, "", NULL };
	static char names[3][16] = { "_Z5alphaPfi", "_Z4betaPfi", "_Z5gammaPfi" };
	void (*const stubs[])(void) = { alpha, beta, gamma_ };
	void **handle = register_binary(&wrapper);

	for (int k = 0; k < 3; k++)
		register_function(handle, (const char *)stubs[k], names[k], names[k], -1,
				  NULL, NULL, NULL, NULL, NULL);
	register_end(handle);
}

static char *device, *host;
static stream_t stream, second;
#define ROOM (1 << 20)

static void start(void)
{
	DO(cudaMalloc, (void **)&device, ROOM);
	DO(cudaMallocHost, (void **)&host, ROOM);
	DO(cudaStreamCreate, &stream);
	DO(cudaStreamCreate, &second);
	if (!host)
		host = calloc(1, ROOM);
}

static void launch(void (*kernel)(void), unsigned blocks, stream_t where)
{
	void *arguments[] = { &device, &blocks };

	DO(cudaLaunchKernel, (const void *)kernel, (struct dim3){ blocks, 2, 1 },
	   (struct dim3){ 64, 2, 1 }, arguments, 1024, where);
}

/* Nine calls, seven pieces of GPU work: the last one is waited for. */
static void work(unsigned n)
{
	DO(cudaMemcpyAsync, device, host, 4096 + n, 1, stream);
	DO(cudaMemsetAsync, device + ROOM / 2, 0, 512, stream);
	launch(alpha, 8, stream);
	launch(beta, 16, second);
	launch(alpha, 8, stream);
	launch(gamma_, 4, stream);
	DO(cudaMemcpyAsync, host, device, 256, 2, stream);
	DO(cudaStreamSynchronize, second);
	DO(cudaStreamSynchronize, stream);
}

static void step(void)
{
	if (proflaunch_step)
		proflaunch_step();
}

static void mode_loop(int steps)
{
	for (int n = 0; n < steps; n++) {
		work((unsigned)n);
		step();
	}
}

/* Every second piece of work is not to be recorded: the GPU is switched off for it. */
static void mode_collect(int steps)
{
	for (int n = 0; n < steps; n++) {
		if (proflaunch_collect && n % 2) {
			proflaunch_collect(PROFLAUNCH_CUDA, 0);
			usleep(300000); /* it is another thread that switches off */
		}
		work((unsigned)n);
		if (proflaunch_collect && n % 2)
			proflaunch_collect(PROFLAUNCH_CUDA, 1);
	}
}

/* Kernels that nobody waits for: they end after their step. */
static void mode_tail(int steps)
{
	for (int n = 0; n < steps; n++) {
		launch(alpha, 2000, stream);
		launch(beta, 1, stream);
		step();
	}
	DO(cudaDeviceSynchronize);
}

/* Leaves without waiting for anything. */
static void mode_leave(int steps)
{
	for (int n = 0; n < steps; n++)
		launch(alpha, 8, stream);
}

/* Ends as a forkserver's child does: no handler of exit runs. */
static void mode_quit(int steps)
{
	for (int n = 0; n < steps; n++)
		launch(alpha, 8, stream);
	DO(cudaDeviceSynchronize);
	_exit(0);
}

static void mode_devices(int steps)
{
	for (int n = 0; n < steps; n++) {
		for (int d = 0; d < 2; d++) {
			DO(cudaSetDevice, d);
			launch(d ? beta : alpha, 8, NULL);
			DO(cudaDeviceSynchronize);
		}
		step();
	}
}

static void *one_thread(void *arg)
{
	for (int n = *(int *)arg; n > 0; n--)
		launch(alpha, 1, NULL);
	return NULL;
}

static void mode_threads(int each)
{
	pthread_t threads[64];

	for (int t = 0; t < 64; t++)
		pthread_create(&threads[t], NULL, one_thread, &each);
	for (int t = 0; t < 64; t++)
		pthread_join(threads[t], NULL);
	DO(cudaDeviceSynchronize);
}

/* A child in the middle, with the parent's buffers full; it must not touch CUDA. */
static void mode_fork(int steps)
{
	for (int n = 0; n < steps; n++) {
		work((unsigned)n);
		pid_t child = fork();

		if (!child) {
			step();
			if (n % 2)
				_exit(3);
			exit(3);
		}
		int status = 0;

		waitpid(child, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
			printf("the child ended with %x\n", status);
		step();
	}
}

static void *capture(void)
{
	void *captured = NULL, *graph = NULL;

	DO(cudaStreamBeginCapture, stream, 2);
	launch(alpha, 8, stream);
	launch(beta, 8, stream);
	launch(gamma_, 8, stream);
	DO(cudaStreamEndCapture, stream, &captured);
	DO(cudaGraphInstantiateWithFlags, &graph, captured, 0);
	return graph;
}

static void mode_graph(int steps)
{
	void *graph = capture();

	for (int n = 0; n < steps; n++) {
		DO(cudaGraphLaunch, graph, stream);
		DO(cudaStreamSynchronize, stream);
		step();
	}
}

/* Graphs' kernels and others by turns, more of them than CUPTI's buffers hold. */
static void mode_mixed(int steps)
{
	void *graph = capture();

	for (int n = 0; n < steps; n++) {
		for (int k = 0; k < 10; k++) {
			DO(cudaGraphLaunch, graph, stream);
			for (int more = n % 7; more >= 0; more--)
				launch(beta, 16, stream);
			DO(cudaMemsetAsync, device, 0, 512, stream);
			DO(cudaMemcpyAsync, host, device, 256, 2, stream);
		}
		DO(cudaStreamSynchronize, stream);
		usleep(1000);
		step();
	}
}

/* Says after each step how many there were, until somebody kills it. */
static void mode_counting(int steps)
{
	for (int n = 0; n < steps; n++) {
		work((unsigned)n);
		printf("%d\n", n + 1);
		fflush(stdout);
		usleep(1000);
	}
}

#include "tests/programs/cuda_work_cupti.h"
#include "tests/programs/cuda_work_streams.h"

/* What the fake GPU says it was given. */
static void totals(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void (*tell)(struct fake_totals *) = NULL;
	struct fake_totals t;

	if (driver)
		*(void **)&tell = dlsym(driver, "fake_totals");
	if (!tell)
		return;
	tell(&t);
	printf("%lu kernels, %lu copies, %lu sets, %lu graphs\n", t.kernels, t.copies,
	       t.sets, t.graph_launches);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int);
	} modes[] = { { "loop", mode_loop },       { "tail", mode_tail },
		      { "leave", mode_leave },     { "devices", mode_devices },
		      { "threads", mode_threads }, { "fork", mode_fork },
		      { "graph", mode_graph },     { "counting", mode_counting },
		      { "client", mode_client },   { "raw", mode_raw },
		      { "collect", mode_collect }, { "contexts", mode_contexts },
		      { "mixed", mode_mixed },     { "path", mode_path },
		      { "events", mode_events },   { "quit", mode_quit } };
	int steps = argc > 2 ? atoi(argv[2]) : 1;

	find();
	register_kernels();
	start();
	if (getenv("WARM_UP_MS")) /* what a real CUDA program spends on its way to work */
		usleep((unsigned)atoi(getenv("WARM_UP_MS")) * 1000);
	for (size_t m = 0; argc > 1 && m < sizeof(modes) / sizeof(*modes); m++)
		if (!strcmp(argv[1], modes[m].name))
			modes[m].run(steps);
	totals();
	printf("%lu calls, %lu failed, first %lu\n", calls, failed, first_error);
	return 0;
}
