/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_times MODE N - CUDA programs whose kernels run at awkward times, N steps of it.
 *
 * As cuda_work: CUDART names the runtime, FAKE_KERNELS says how long *alpha* takes, and
 * what is printed must not depend on being watched.
 */
#include "agent/proflaunch.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dim3 {
	unsigned x, y, z;
};
typedef void *stream_t;

#define RUNTIME(X)                                                             \
	X(cudaMalloc, (void **, size_t))                                       \
	X(cudaLaunchKernel,                                                    \
	  (const void *, struct dim3, struct dim3, void **, size_t, stream_t)) \
	X(cudaStreamCreate, (stream_t *))                                      \
	X(cudaDeviceSynchronize, (void))
#define POINTER(name, parameters) static int(*p_##name) parameters;
RUNTIME(POINTER)

static void **(*register_binary)(void *);
static void (*register_end)(void **);
static void (*register_function)(void **, const char *, char *, const char *, int, void *,
				 void *, void *, void *, int *);

static unsigned long calls, failed;
static stream_t stream;

static void count(int error)
{
	calls++;
	failed += error != 0;
}
#define DO(name, ...) count(p_##name(__VA_ARGS__))

static void alpha(void)
{
}

static void find(void)
{
	const char *path = getenv("CUDART");

	if (!dlopen(path ? path : "libcudart.so", RTLD_NOW | RTLD_GLOBAL)) {
		fprintf(stderr, "cuda_times: %s\n", dlerror());
		exit(77);
	}
#define FIND(name, parameters) *(void **)&p_##name = dlsym(RTLD_DEFAULT, #name);
	RUNTIME(FIND)
	*(void **)&register_binary = dlsym(RTLD_DEFAULT, "__cudaRegisterFatBinary");
	*(void **)&register_end = dlsym(RTLD_DEFAULT, "__cudaRegisterFatBinaryEnd");
	*(void **)&register_function = dlsym(RTLD_DEFAULT, "__cudaRegisterFunction");
}

static void start(void)
{
	static struct {
		unsigned magic, version;
		const void *image;
		void *more;
	} wrapper = { 0x466243b1, 1, "", NULL };
	static char name[] = "_Z5alphaPfi";
	void **handle = register_binary(&wrapper);
	void *memory;

	register_function(handle, (const char *)alpha, name, name, -1, NULL, NULL, NULL,
			  NULL, NULL);
	register_end(handle);
	DO(cudaMalloc, &memory, 4096);
	DO(cudaStreamCreate, &stream);
}

static void launch(struct dim3 grid)
{
	void *arguments[] = { &stream, &stream };

	DO(cudaLaunchKernel, (const void *)alpha, grid, (struct dim3){ 64, 1, 1 },
	   arguments, 0, stream);
}

static void launch_some(int n)
{
	while (n-- > 0)
		launch((struct dim3){ 8, 1, 1 });
}

static void step(void)
{
	if (proflaunch_step)
		proflaunch_step();
}

/* Every third step launches nothing, while what the one before it launched still runs;
 * the one after it is calm. */
static void mode_quiet(int steps)
{
	for (int n = 0; n < steps; n++) {
		if (n % 3 == 0)
			usleep(400000);
		if (n % 3 == 1)
			launch_some(8);
		if (n % 3 == 2)
			usleep(100000);
		step();
	}
	DO(cudaDeviceSynchronize);
}

/* More work than the GPU can do, until a file appears (or for N steps): it is never
 * without. */
static void mode_busy(int steps)
{
	const char *stop = getenv("STOP");

	for (int n = 0; n < steps && (!stop || access(stop, F_OK)); n++) {
		launch_some(n ? 1 : 2);
		usleep(20000);
		step();
	}
}

/* As large as a grid may be. */
static void mode_grid(int steps)
{
	for (int n = 0; n < steps; n++) {
		launch((struct dim3){ INT_MAX, 65535, 65535 });
		DO(cudaDeviceSynchronize);
		step();
	}
}

/* Kernels, and nothing else that a record could be of. */
static void mode_kernels(int n)
{
	launch_some(n);
	DO(cudaDeviceSynchronize);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int);
	} modes[] = { { "quiet", mode_quiet },
		      { "busy", mode_busy },
		      { "grid", mode_grid },
		      { "kernels", mode_kernels } };
	int steps = argc > 2 ? atoi(argv[2]) : 1;

	find();
	start();
	for (size_t m = 0; argc > 1 && m < sizeof(modes) / sizeof(*modes); m++)
		if (!strcmp(argv[1], modes[m].name))
			modes[m].run(steps);
	if (argc < 2 || strcmp(argv[1], "busy"))
		printf("%lu calls, %lu failed\n", calls, failed);
	return 0;
}
