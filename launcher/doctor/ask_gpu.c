/* SPDX-License-Identifier: Apache-2.0 */
/* No header and no library of NVIDIA's is needed to build this: functions are looked up
 * by name, with the types that NVIDIA's documents give them, and a missing one is not
 * called. The child writes what it learns into a shared page as it goes, so that its last
 * `stage` says what it was doing when it crashed or hung. */
#include "launcher/doctor/ask_gpu.h"
#include "config/cuda_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMPUTE_MODE 20 /* CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, _COMPUTE_CAPABILITY_* */
#define MAJOR        75
#define MINOR        76
#define NAP_MS       10

/* ---- in the child ---- */

static void *find_symbol(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

/* Calls `name` in `library` when it is there; `miss` when it is not. */
#define CALL(library, miss, name, types, ...)                              \
	({                                                                 \
		int(*fn) types = (int(*) types)find_symbol(library, name); \
		fn ? fn(__VA_ARGS__) : (miss);                             \
	})

/* cuDeviceGetAttribute and its kin return CUresult, which nobody checks: a value without
 * an answer stays 0. */
static void ask_devices(struct ask_gpu *a, void *cuda)
{
	CALL(cuda, 0, "cuDriverGetVersion", (int *), &a->driver);
	CALL(cuda, 0, "cuDeviceGetCount", (int *), &a->count);
	for (int i = 0; i < a->count && i < ASK_GPUS; i++) {
		int device = i;

		CALL(cuda, 0, "cuDeviceGet", (int *, int), &device, i);
		CALL(cuda, 0, "cuDeviceGetName", (char *, int, int), a->gpu[i].name,
		     (int)sizeof(a->gpu[i].name) - 1, device);
		CALL(cuda, 0, "cuDeviceGetAttribute", (int *, int, int), &a->gpu[i].major,
		     MAJOR, device);
		CALL(cuda, 0, "cuDeviceGetAttribute", (int *, int, int), &a->gpu[i].minor,
		     MINOR, device);
		CALL(cuda, 0, "cuDeviceGetAttribute", (int *, int, int), &a->gpu[i].mode,
		     COMPUTE_MODE, device);
	}
}

static bool ask_driver(struct ask_gpu *a)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	const char *text = NULL;

	if (!cuda) {
		snprintf(a->error, sizeof(a->error), "%s", dlerror());
		return false;
	}
	a->stage = ASK_INIT;
	a->init = CALL(cuda, 999, "cuInit", (unsigned), 0);
	if (a->init) {
		CALL(cuda, 0, "cuGetErrorString", (int, const char **), a->init, &text);
		snprintf(a->init_text, sizeof(a->init_text), "%s", text ? text : "");
		return false;
	}
	a->stage = ASK_DEVICES;
	ask_devices(a, cuda);
	return true;
}

/* The buffer is full of a kind's number: so the library steps over one record, and over
 * the next; the distance is the size of its records. */
static uint32_t record_stride(void *cupti, uint32_t kind)
{
	static uint64_t buffer[512];
	void *first = NULL, *second;

	for (size_t i = 0; i < sizeof(buffer) / sizeof(*buffer); i++)
		buffer[i] = kind;
	if (CALL(cupti, 1, "cuptiActivityGetNextRecord", (void *, size_t, void **),
		 buffer, sizeof(buffer), &first))
		return 0;
	second = first;
	if (CALL(cupti, 1, "cuptiActivityGetNextRecord", (void *, size_t, void **),
		 buffer, sizeof(buffer), &second))
		return 0;
	return (uint32_t)((char *)second - (char *)first);
}

static void ignore_callback(void *arg, int domain, uint32_t id, const void *data)
{
	(void)arg;
	(void)domain;
	(void)id;
	(void)data;
}

/* The loader knows more folders than this file does (LD_LIBRARY_PATH, ld.so.cache); the
 * link map says which file it took. */
static void *open_major(struct ask_gpu *a, int major)
{
	char name[32];
	void *library = NULL;
	struct link_map *map;

	for (unsigned n = 0; !library && cuda_cupti_name(name, sizeof(name), major, n);
	     n++)
		library = dlopen(name, RTLD_NOW);
	if (library && !dlinfo(library, RTLD_DI_LINKMAP, &map))
		snprintf(a->cupti, sizeof(a->cupti), "%s", map->l_name);
	return library;
}

/* Where find_cupti found no file the loader may know one. */
static void *open_cupti(struct ask_gpu *a)
{
	int major = a->driver ? a->driver / 1000 : CUDA_MAJOR_MOST;
	void *library = NULL;

	if (*a->cupti)
		library = dlopen(a->cupti, RTLD_NOW);
	if (*a->cupti && !library)
		snprintf(a->error, sizeof(a->error), "%s", dlerror());
	if (*a->cupti)
		return library;
	for (unsigned i = 0; i < ASK_MAJORS && a->majors[i] && !library; i++)
		library = open_major(a, a->majors[i]);
	for (; a->by_driver && major >= CUDA_MAJOR_LEAST && !library; major--)
		library = open_major(a, major);
	return library;
}

static void ask_cupti(struct ask_gpu *a)
{
	/* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, _MEMCPY, _MEMSET and _RUNTIME, in the
	 * order of ASK_KERNEL and the others. */
	static const uint32_t kinds[ASK_KINDS] = { 10, 1, 2, 5 };
	void *cupti, *subscriber = NULL;

	a->stage = ASK_OPEN_CUPTI;
	cupti = open_cupti(a);
	if (!cupti)
		return;
	a->stage = ASK_VERSION;
	CALL(cupti, 0, "cuptiGetVersion", (uint32_t *), &a->version);
	a->stage = ASK_STRIDES;
	for (unsigned i = 0; i < ASK_KINDS; i++)
		a->stride[i] = record_stride(cupti, kinds[i]);
	a->stage = ASK_SUBSCRIBE;
	a->subscribe = CALL(cupti, 999, "cuptiSubscribe", (void **, void *, void *),
			    &subscriber, (void *)ignore_callback, NULL);
	if (a->subscribe)
		return;
	a->stage = ASK_ENABLE;
	a->enable = CALL(cupti, 999, "cuptiActivityEnable", (int), (int)kinds[0]);
	CALL(cupti, 0, "cuptiActivityDisable", (int), (int)kinds[0]);
	CALL(cupti, 0, "cuptiUnsubscribe", (void *), subscriber);
	a->stage = ASK_DONE;
}

static void __attribute__((noreturn)) ask_in_child(struct ask_gpu *a)
{
	int null = open("/dev/null", O_RDWR);

	/* The child lets in no other tool, prints nothing, and leaves no core. */
	unsetenv("CUDA_INJECTION64_PATH");
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (ask_driver(a))
		ask_cupti(a);
	_exit(0);
}

/* ---- in doctor ---- */

static bool wait_for(pid_t pid, int *status, unsigned ms)
{
	for (unsigned waited = 0; waitpid(pid, status, WNOHANG) == 0; waited += NAP_MS) {
		if (waited >= ms)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = NAP_MS * 1000000L }, NULL);
	}
	return true;
}

static void fork_and_ask(struct ask_gpu *a, struct ask_gpu *shared, unsigned seconds)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		ask_in_child(shared);
	if (pid < 0)
		return;
	a->end = ASK_HUNG;
	if (wait_for(pid, &status, seconds * 1000))
		a->end = WIFSIGNALED(status) ? ASK_DIED : ASK_ENDED;
	else
		kill(pid, SIGKILL); /* a child stuck in the kernel stays longer */
	if (a->end == ASK_HUNG)
		wait_for(pid, &status, 1000);
	shared->end = a->end;
	shared->signal = a->end == ASK_DIED ? WTERMSIG(status) : 0;
	*a = *shared;
	/* A library gone wild may have written anywhere: end all texts. */
	a->cupti[sizeof(a->cupti) - 1] = '\0';
	a->error[sizeof(a->error) - 1] = a->init_text[sizeof(a->init_text) - 1] = '\0';
	for (int i = 0; i < ASK_GPUS; i++)
		a->gpu[i].name[sizeof(a->gpu[i].name) - 1] = '\0';
	if (a->stage > ASK_DONE)
		a->stage = ASK_OPEN_DRIVER;
}

void ask_gpu(struct ask_gpu *a, unsigned seconds)
{
	struct ask_gpu *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	a->end = ASK_NOT_RUN;
	if (shared == MAP_FAILED)
		return;
	*shared = *a;
	fflush(stdout);
	fork_and_ask(a, shared, seconds);
	munmap(shared, sizeof(*shared));
}
