/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where calls go. With one library of a kind in the process every caller means the same
 * function. With two each caller means the one that its own library brought along: that
 * is looked up by its return address, each time.
 */
#include "agent/cuda/libraries.h"
#include "agent/hooks/adds.h"
#include "agent/hooks/enter.h"
#include "base/arena.h"
#include "base/fmt.h"
#include "base/seldom.h"
#include "base/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#define LIBRARIES 4 /* of a kind */
#define SITES     1024u /* calls remembered, while there are two of a kind */
#define PROBES    8u
#define CALLERS   256u

struct libraries {
	const char *name;
	unsigned count;
	char path[LIBRARIES][1024];
};

struct site {
	const void *caller;
	uint32_t slot;
	void *real;
};

void *cuda_real[CUDA_FUNCTIONS + CUDA_SLOTS_SPARE];
_Atomic bool cuda_armed;
static _Atomic bool in_use; /* some function was called */
/* NCCL's calls are few, and old torches have a copy in a library of their own name. */
static _Atomic bool several[GROUPS] = { [GROUP_NCCL] = true };
static SELDOM struct site *_Atomic sites[SITES];
static const struct cuda_function *_Atomic spare[CUDA_SLOTS_SPARE];

#define cuda_real_at(slot) ((_Atomic(void *) *)&cuda_real[slot])

const char *cuda_group_library(enum cuda_group group)
{
	static const char *const names[] = { "libcudart", "libcuda.so", "libnccl" };

	return names[group];
}

bool cuda_is_ours(const void *at)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char _end[] __attribute__((visibility("hidden")));

	return (const char *)at >= __ehdr_start && (const char *)at < _end;
}

/* The path of the object that holds the address; NULL. */
static const char *object_of(const void *at)
{
	Dl_info info;

	return libc_has(dladdr) && dladdr(at, &info) ? info.dli_fname : NULL;
}

/*
 * What makes CUDA itself, watches it, or moves data for others gets the driver's own
 * functions. Libraries that compute (cuBLAS, cuDNN, cuFFT, cuSPARSE, cuSOLVER, cuRAND)
 * are not among them: each has a runtime linked into it, so that the driver's functions,
 * which that asks for by name, are the only place where their launches can be seen by
 * kernel: and cuda: markers, call stacks and estimates.
 */
bool cuda_is_nvidia(const void *at)
{
	static const char *const own[] = {
		"libcupti",    "libcudart",         "libnccl",
		"libnvidia-",  "libcuda.so",        "libcudadebugger",
		"libnvperf",   "libnvrtc",          "libnvJitLink",
		"libnvfatbin", "libnvvm",           "libnvptxcompiler",
		"libnvshmem",  "libcufile",         "libnvToolsExt",
		"libcuinj64",  "libToolsInjection", "libcudla",
	};
	const char *path = object_of(at);

	for (size_t i = 0; path && i < sizeof(own) / sizeof(*own); i++)
		if (!strncmp(text_base(path), own[i], strlen(own[i])))
			return true;
	return false;
}

/* The same of a call's return address, remembered. */
bool cuda_called_by_nvidia(const void *caller)
{
	static SELDOM _Atomic uint64_t known[CALLERS]; /* address, answer */
	_Atomic uint64_t *k =
		&known[((uintptr_t)caller >> 4 ^ (uintptr_t)caller) % CALLERS];
	uint64_t seen = atomic_load_explicit(k, memory_order_relaxed);

	if (seen >> 1 != (uintptr_t)caller) {
		seen = (uint64_t)(uintptr_t)caller << 1 | cuda_is_nvidia(caller);
		atomic_store_explicit(k, seen, memory_order_relaxed);
	}
	return seen & 1;
}

/* ---- libraries ---- */

static int collect_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct libraries *l = arg;

	(void)size;
	if (info->dlpi_name && strlen(info->dlpi_name) < sizeof(l->path[0]) &&
	    !strncmp(text_base(info->dlpi_name), l->name, strlen(l->name)))
		fmt(l->path[l->count++], sizeof(l->path[0]), "%s", info->dlpi_name);
	return l->count == LIBRARIES;
}

static void list_libraries(enum cuda_group group, struct libraries *l)
{
	l->name = cuda_group_library(group);
	l->count = 0;
	dl_iterate_phdr(collect_path, l);
}

static void *in_library(const char *path, const char *name)
{
	void *handle = libc_has(dlopen) ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : NULL;
	void *at;

	if (!handle)
		return NULL;
	at = hook_real_dlsym(handle, name);
	dlclose(handle);
	return cuda_is_ours(at) ? NULL : at;
}

/* The library of `at` stays mapped from now on: calls go there without a look-up. */
static void pin_library(const void *at)
{
	const char *path = object_of(at);
	void *handle = NULL;

	if (path && libc_has(dlopen))
		handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE);
	if (handle)
		dlclose(handle);
}

void *cuda_find_beside(const void *beside, const char *name)
{
	const char *path = object_of(beside);

	return path ? in_library(path, name) : NULL;
}

void *cuda_locate(enum cuda_group group, const char *name)
{
	struct libraries l;
	void *at = NULL;

	list_libraries(group, &l);
	for (unsigned i = 0; !at && i < l.count; i++)
		at = in_library(l.path[i], name);
	return at;
}

/* ---- two of a kind ---- */

static void *find_site(const void *caller, uint32_t slot)
{
	uint32_t at = (uint32_t)((uintptr_t)caller * 31 + slot);

	for (uint32_t i = 0; i < PROBES; i++) {
		struct site *s = atomic_load(&sites[(at + i) % SITES]);

		if (s && s->caller == caller && s->slot == slot)
			return s->real;
	}
	return NULL;
}

/* Sites are only added, each complete before it is seen: readers take no lock. */
static void remember_site(const void *caller, uint32_t slot, void *real)
{
	uint32_t at = (uint32_t)((uintptr_t)caller * 31 + slot);
	struct site *s = NULL, *none;

	for (uint32_t i = 0; i < PROBES; i++) {
		if (atomic_load(&sites[(at + i) % SITES]))
			continue;
		if (!s && !(s = arena_alloc(sizeof(*s))))
			return;
		*s = (struct site){ caller, slot, real };
		none = NULL;
		if (atomic_compare_exchange_strong(&sites[(at + i) % SITES], &none, s))
			return;
	}
}

/* If a second library of the kind is there: forgets the functions found while there was
 * one. */
static void look_for_second(enum cuda_group group)
{
	struct libraries l;

	if (atomic_load(&several[group]))
		return;
	list_libraries(group, &l);
	if (l.count < 2)
		return;
	atomic_store(&several[group], true);
	for (unsigned i = 0; i < CUDA_FUNCTIONS; i++)
		if (cuda_functions[i].group == group)
			atomic_store(cuda_real_at(i), NULL);
}

void cuda_find_again(void)
{
	static _Atomic unsigned long long seen;
	unsigned long long adds;

	if (!atomic_load_explicit(&in_use, memory_order_relaxed))
		return;
	adds = adds_count();
	if (atomic_exchange(&seen, adds) == adds)
		return;
	look_for_second(GROUP_CUDART);
}

/* ---- one call ---- */

const struct cuda_function *cuda_function_of(uint32_t slot)
{
	return slot < CUDA_FUNCTIONS ? &cuda_functions[slot]
				     : atomic_load(&spare[slot - CUDA_FUNCTIONS]);
}

static void *only_one(const struct cuda_function *fn, uint32_t slot)
{
	const char *name = cuda_function_name(fn);
	void *real = hook_real_dlsym(RTLD_NEXT, name);

	if (!real)
		real = cuda_locate(fn->group, name);
	if (!real)
		return NULL;
	pin_library(real);
	atomic_store(cuda_real_at(slot), real);
	if (atomic_load(&several[fn->group])) /* a thread found a second one meanwhile */
		atomic_store(cuda_real_at(slot), NULL);
	return real;
}

static void *by_caller(const struct cuda_function *fn, uint32_t slot, const void *caller)
{
	const char *name = cuda_function_name(fn);
	void *real = cuda_find_beside(caller, name);

	if (!real)
		real = hook_real_dlsym(RTLD_NEXT, name);
	if (!real)
		real = cuda_locate(fn->group, name);
	if (real) {
		pin_library(real);
		remember_site(caller, slot, real);
	}
	return real;
}

int cuda_missing(void)
{
	return 999; /* cudaErrorUnknown, CUDA_ERROR_UNKNOWN */
}

int cuda_missing_nccl(void)
{
	return 3; /* ncclInternalError */
}

void *cuda_resolve(uint32_t slot, const void *caller)
{
	const struct cuda_function *fn = cuda_function_of(slot);
	void *real = atomic_load(cuda_real_at(slot));
	int saved;

	if (real)
		return real;
	saved = errno;
	hook_look_dlsym(NULL, NULL);
	atomic_store(&in_use, true);
	cuda_find_again();
	real = find_site(caller, slot);
	if (!real && !atomic_load(&several[fn->group]))
		real = only_one(fn, slot);
	if (!real)
		real = by_caller(fn, slot, caller);
	errno = saved;
	if (real)
		return real;
	return fn->group == GROUP_NCCL ? (void *)cuda_missing_nccl : (void *)cuda_missing;
}

/* ---- slots for functions that were looked up ---- */

uint32_t cuda_slot_for(const struct cuda_function *fn, void *real)
{
	uint32_t own = (uint32_t)(fn - cuda_functions);

	if (cuda_is_ours(real))
		return CUDA_SLOTS_NONE;
	if (!atomic_load(&several[fn->group]) && cuda_resolve(own, real) == real)
		return own;
	for (uint32_t i = 0; i < CUDA_SLOTS_SPARE; i++) {
		uint32_t slot = CUDA_FUNCTIONS + i;
		const struct cuda_function *none = NULL;

		if (!atomic_load(&spare[i]) &&
		    atomic_compare_exchange_strong(&spare[i], &none, fn)) {
			pin_library(real);
			atomic_store(cuda_real_at(slot), real);
			return slot;
		}
		/* Another thread may have taken the slot just now, for the same. */
		if (atomic_load(&spare[i]) == fn &&
		    atomic_load(cuda_real_at(slot)) == real)
			return slot;
	}
	return CUDA_SLOTS_NONE;
}
