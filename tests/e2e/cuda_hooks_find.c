/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that get at CUDA in odd ways, one word each; what they print is the same with
 * and without us, but for lines that begin with "at": in which file an address lies.
 *
 * -DUSER builds a library that links a runtime and calls it; -DASKER one that asks dlsym.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined USER

#ifndef FIRST
#define FIRST  cudaMalloc
#define SECOND cudaFree
#endif

uint64_t FIRST(uint64_t);
uint64_t SECOND(uint64_t);
uint64_t user(size_t size);

uint64_t user(size_t size)
{
	return FIRST(size) ^ SECOND(size);
}

#elif defined ASKER

void *ask(void *handle, const char *name);

void *ask(void *handle, const char *name)
{
	void *at = dlsym(handle, name);

	__asm__ volatile("" ::"r"(at)); /* no tail call */
	return at;
}

#else

static void *opened(const char *path, int mode)
{
	void *handle = dlopen(path, mode);

	if (!handle) {
		printf("%s\n", dlerror());
		exit(3);
	}
	return handle;
}

static void *need(void *handle, const char *name)
{
	void *at = dlsym(handle, name);

	if (!at || dlerror()) {
		printf("no %s\n", name);
		exit(4);
	}
	return at;
}

static const char *file_of(const void *at)
{
	Dl_info info;

	return at && dladdr(at, &info) ? strrchr(info.dli_fname, '/') + 1 : "-";
}

static void say(const char *what, void *at)
{
	const char *error = dlerror();

	printf("%s: %s, error %s\n", what, at ? "found" : "NULL", error ? "set" : "none");
}

static void lookups(void)
{
	void *self = dlopen(NULL, RTLD_LAZY);

	say("default", dlsym(RTLD_DEFAULT, "cudaMalloc"));
	say("next", dlsym(RTLD_NEXT, "cudaMalloc"));
	say("self", dlsym(self, "cuLaunchKernel"));
	say("nccl", dlsym(RTLD_DEFAULT, "ncclAllReduce"));
	say("cupti", dlsym(RTLD_DEFAULT, "cuptiSubscribe"));
	say("other", dlsym(RTLD_DEFAULT, "cudaGetDevice"));
	say("real", dlsym(RTLD_DEFAULT, "printf"));
}

/* Each library has its own runtime, or both have the same; none of them is global. */
static void users(int n, char **path)
{
	uint64_t (*use[4])(size_t);

	for (int i = 0; i < n; i++) {
		use[i] = need(opened(path[i], RTLD_NOW | RTLD_LOCAL), "user");
		printf("%s %lx\n", path[i], (unsigned long)use[i](5));
	}
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < n; i++) {
			errno = 0;
			printf("%s %lx %d\n", path[i],
			       (unsigned long)use[i](100 + (size_t)round), errno);
		}
}

static void again(const char *path)
{
	for (int i = 0; i < 3; i++) {
		void *handle = opened(path, RTLD_NOW | RTLD_LOCAL);
		uint64_t (*use)(size_t) = need(handle, "user");

		printf("%lx\n", (unsigned long)use(7));
		dlclose(handle);
	}
}

static void by_handle(const char *path, const char *name)
{
	void *handle = opened(path, RTLD_NOW | RTLD_LOCAL);
	uint64_t (*call)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			 uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) =
		need(handle, name);

	printf("%lx\n", (unsigned long)call(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
	printf("at %s\n", file_of((void *)call));
	printf("%s\n", call == need(handle, name) ? "same" : "another");
	say("missing", dlsym(handle, "cudaNoSuchThing"));
}

static void asked(const char *asker, const char *path, const char *name)
{
	void *(*ask)(void *, const char *) = need(opened(asker, RTLD_NOW), "ask");

	printf("at %s\n", file_of(ask(opened(path, RTLD_NOW), name)));
	printf("at %s\n", file_of(ask(RTLD_DEFAULT, name)));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "lookups"))
		lookups();
	else if (argc > 2 && !strcmp(argv[1], "users"))
		users(argc - 2, argv + 2);
	else if (argc > 2 && !strcmp(argv[1], "again"))
		again(argv[2]);
	else if (argc > 3 && !strcmp(argv[1], "handle"))
		by_handle(argv[2], argv[3]);
	else if (argc > 4 && !strcmp(argv[1], "asked"))
		asked(argv[2], argv[3], argv[4]);
	return 0;
}

#endif
