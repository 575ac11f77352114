/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_driver N - N steps of a program that has the driver alone, as one does whose CUDA
 * runtime is linked into it: no libcudart is mapped. Says which GPUs have a context.
 */
#include "agent/proflaunch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define DRIVER(X)                                                                    \
	X(cuInit, (unsigned))                                                        \
	X(cuDeviceGetCount, (int *))                                                 \
	X(cuDevicePrimaryCtxRetain, (void **, int))                                  \
	X(cuDevicePrimaryCtxGetState, (int, unsigned *, int *))                      \
	X(cuCtxSetCurrent, (void *))                                                 \
	X(cuCtxSynchronize, (void))                                                  \
	X(cuModuleLoadData, (void **, const void *))                                 \
	X(cuModuleGetFunction, (void **, void *, const char *))                      \
	X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, \
			   unsigned, unsigned, void *, void **, void **))
#define POINTER(name, parameters) static int(*p_##name) parameters;
DRIVER(POINTER)

int main(int argc, char **argv)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *kernel;
	int steps = argc > 1 ? atoi(argv[argc - 1]) : 1, devices = 0, failed = 0;

	if (!driver)
		return 77;
#define FIND(name, parameters) *(void **)&p_##name = dlsym(driver, #name);
	DRIVER(FIND)
	failed += p_cuInit(0) != 0;
	failed += p_cuDeviceGetCount(&devices) != 0;
	failed += p_cuDevicePrimaryCtxRetain(&context, 0) != 0;
	failed += p_cuCtxSetCurrent(context) != 0;
	failed += p_cuModuleLoadData(&module, "") != 0;
	failed += p_cuModuleGetFunction(&kernel, module, "_Z5alphaPfi") != 0;
	for (int n = 0; n < steps && !failed; n++) {
		void *arguments[] = { &n, &n };

		failed += p_cuLaunchKernel(kernel, 8, 2, 1, 64, 1, 1, 0, NULL, arguments,
					   NULL) != 0;
		failed += p_cuCtxSynchronize() != 0;
		if (proflaunch_step)
			proflaunch_step();
	}
	printf("%d failed;", failed);
	for (int d = 0; d < devices; d++) {
		unsigned flags;
		int active = 0;

		p_cuDevicePrimaryCtxGetState(d, &flags, &active);
		printf(" GPU %d: %s;", d, active ? "in use" : "untouched");
	}
	printf("\n");
	return 0;
}
