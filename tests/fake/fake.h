/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake - a GPU that is not there: how tests find and steer it.
 *
 * Threads  any, unless said otherwise.
 * Memory   the fakes' own.
 * Errors   what the real libraries return; a client that breaks a rule of CUPTI (reuses
 *          a buffer that was not handed back, calls from a forked child ...) is ended by
 *          abort() with a line "fake: ..." on standard error.
 * Units    ns of the fake's clock: CLOCK_REALTIME plus FAKE_SKEW_NS.
 *
 * $BUILD/fake/run-<version>/ (11.7 11.8 12.1 12.4 12.8 13.0 13.1 13.3 13.4) is made to
 * be LD_LIBRARY_PATH: libcuda.so.1, libcudart.so.<n>, libcupti.so.<n>, libnccl.so.2, and
 * libcuda.so, libcudart.so, libnccl.so to link with. $BUILD/fake/wheel-<version>/nvidia/
 * has cudart, CUPTI and NCCL where the wheels have them. $BUILD/fake/cudart/ has every
 * cudart, with libcudart-e409450e.so.11.0, torch 1.13's. $BUILD/fake/<version>/ has
 * CUPTI alone.
 *
 * Environment; at run time fake_set("FAKE_KERNEL_NS", "1000"), NULL = back to default.
 *
 *   FAKE_DEVICES=1          how many GPUs
 *   FAKE_NAME="..."         of every GPU
 *   FAKE_DRIVER=13040       what cuDriverGetVersion says
 *   FAKE_INJECT=1           0: CUDA_INJECTION64_PATH is not looked at
 *   FAKE_LATENCY_NS=5000    from the end of a launch call to its earliest start
 *   FAKE_KERNEL_NS          every kernel's duration; without it a hash of its name,
 *                           2 to 50 us (fake_duration)
 *   FAKE_KERNELS=glob=ns[:registers[:static_shared]],...   the first that matches wins
 *   FAKE_COPY_NS            every copy's and set's duration; else 1000 + bytes / 10
 *   FAKE_API_NS=0           what an API call takes on the CPU (busy)
 *   FAKE_SKEW_NS=0          added to every time CUPTI tells (may be negative)
 *   FAKE_GPU_SKEW_NS=0      added to GPU times alone, on top
 *   FAKE_VERSION            what cuptiGetVersion says (its records stay as they are)
 *   FAKE_CORRELATION=1      first correlation id (4294967290: wraps soon)
 *   FAKE_ERROR=name=code[*times],...   any cu*, cuda*, nccl* or cupti* function fails;
 *                           cuptiActivityEnable/10=35: only for that kind
 *   FAKE_OWNER=nsys         somebody else has subscribed: cuptiSubscribe says 39
 *   FAKE_NESTED=1           the driver call inside a runtime call gives a record, too
 *   FAKE_DROP_EVERY=n       every nth record is dropped and counted as dropped
 *   FAKE_ZERO_EVERY=n       every nth kernel has start = end = 0
 *   FAKE_REVERSED_EVERY=n   every nth kernel ends before it starts
 *   FAKE_EARLY_EVERY=n      every nth kernel starts 2 us before its launch call
 *   FAKE_INCOMPLETE_EVERY=n every nth kernel has end = 0
 *   FAKE_SPARSE=1           in a client's zeroed buffers, fields that do not apply are
 *                           not written: no graph, no latency, no pool
 *   FAKE_LATE_MS=0          a buffer is complete only so long after its last record
 *   FAKE_ORDER=reverse      the records of a buffer in reverse
 *   FAKE_COMPLETE=worker    who calls `completed`: worker (FlushAll waits for it),
 *                           late (the worker, after FlushAll has returned), caller
 *   FAKE_ENABLE_MS=0        how long ActivityEnable takes for kernels
 *   FAKE_HANG=flush|complete|sync  FlushAll / the worker / synchronisation never ends
 *   FAKE_EXIT=lost          lost: what CUPTI holds when the driver's exit handler has
 *                           run is gone; kept: it can still be flushed
 *   FAKE_CRASH=1            a CUPTI call without a driver is a SIGSEGV, like 13.2's
 *   FAKE_LOG=file           a line for every CUPTI call: "name first-argument result"
 */
#ifndef FAKE_FAKE_H
#define FAKE_FAKE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- in libcuda.so.1 ---- */

struct fake_totals { /* of what was submitted to the GPUs since fake_reset_totals */
	uint64_t kernels, copies, sets, graph_launches;
	uint64_t kernel_ns, copy_ns, set_ns;
	uint64_t copy_bytes, set_bytes;
	uint64_t runtime_calls, driver_calls; /* nested ones are not counted */
	uint64_t last_end; /* when the last of it ends */
};

void fake_set(const char *variable, const char *value);
uint64_t fake_now(void);
uint64_t fake_duration(const char *kernel); /* as it would be launched now */
void fake_wait(void); /* until all work on all GPUs has ended */
void fake_totals(struct fake_totals *out);
void fake_reset_totals(void);
/* A kernel for programs without nvcc: what a stub's address is to cudaLaunchKernel. The
 * same name gives the same address. `body` runs in the launching thread; may be NULL. */
void *fake_kernel(const char *mangled, void (*body)(void **args));

/* ---- in libcupti.so ---- */

struct fake_cupti {
	uint64_t kinds; /* bit per enabled kind */
	uint32_t runtime_calls, driver_calls; /* cbids whose records are on */
	uint32_t buffers_out; /* requested and not handed back */
	uint64_t requested, completed, refused; /* buffers; refused: NULL or too small */
	uint64_t records, dropped;
	uint32_t subscribers;
};

void fake_cupti(struct fake_cupti *out);
/* One record of the newest struct this version has for `kind`, as if CUPTI had made it,
 * every field set to fake_value(); 21 when the version has no such kind. Pads stay as
 * the buffer was. */
int fake_fill(uint32_t kind, uint32_t seed);
/* The same into memory of the caller's; returns its size, 0 = no such kind. */
size_t fake_record(void *at, uint32_t kind, uint32_t seed);
/* Any bytes into the current buffer: unknown kinds, a truncated last record. */
int fake_raw(const void *bytes, size_t size);
/* The module of kernel `from` is unloaded and `to`'s comes to lie in its place: `to`'s
 * name is from now on at the address of `from`'s. */
void fake_reuse_name(const char *from, const char *to);
/* All buffers of all threads are handed back now, by the worker; waits for it. */
void fake_deliver(void);
/* `threads` threads at once ask for a buffer of their own and put `each` kernel records
 * into it; returns when all are done. */
void fake_storm(unsigned threads, unsigned each);

/* What the headers of this version say. */
struct fake_field {
	uint32_t kind;
	const char *kind_name; /* "CONCURRENT_KERNEL" */
	const char *field;
	uint32_t offset, width;
	uint32_t stride; /* of the whole record */
	char type; /* 'n' number, 'p' pointer to text, 'b' other bytes */
};
struct fake_constant {
	const char *name; /* "CUPTI_ACTIVITY_KIND_MEMCPY" */
	uint32_t value;
};
const struct fake_field *fake_fields(size_t *n);
const struct fake_constant *fake_constants(size_t *n); /* enums, cbids */

/* ---- what fake_fill puts into a field ---- */

/* Never 0, distinct for each field; the low `width` bytes count. */
static inline uint64_t fake_value(uint32_t kind, const char *field, uint32_t seed)
{
	uint64_t hash = 0xcbf29ce484222325u ^ (kind * 0x9e3779b97f4a7c15u);

	for (; *field; field++)
		hash = (hash ^ (unsigned char)*field) * 0x100000001b3u;
	hash ^= seed * 0xff51afd7ed558ccdu;
	hash ^= hash >> 29;
	hash *= 0xbf58476d1ce4e5b9u;
	hash ^= hash >> 32;
	return hash | 0x0101010101010101u;
}

/* Text of a field of type 'p': "10.name.7". */
static inline void fake_text(char *out, size_t size, uint32_t kind, const char *field,
			     uint32_t seed)
{
	snprintf(out, size, "%u.%s.%u", kind, field, seed);
}

/* ---- for unit tests: the libraries of one version, loaded by path ---- */

static inline void *fake_open(const char *version, const char *library)
{
	const char *build = getenv("BUILD");
	char path[512];

	snprintf(path, sizeof(path), "%s/fake/run-%s/%s", build ? build : "build",
		 version, library);
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

#ifdef __cplusplus
}
#endif
#endif
