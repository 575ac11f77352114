/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/torch/memory.h"

#include "agent/core/emit.h"
#include "agent/torch/abi.h"
#include "agent/torch/torch.h"

#include <errno.h>

typedef bool (*enabled_fn)(void);
typedef void (*report_fn)(void *ptr, int64_t bytes, uint64_t allocated, uint64_t reserved,
			  uint16_t device);
typedef void (*exhausted_fn)(int64_t bytes, uint64_t allocated, uint64_t reserved,
			     uint16_t device);

/* libc10's own, each stored once; NULL = not (yet) known. */
static _Atomic(enabled_fn) real_enabled;
static _Atomic(report_fn) real_report;
static _Atomic(exhausted_fn) real_exhausted;
static _Atomic uint32_t resolved; /* 1 = somebody is at it, or was */

/*
 * Ours is true from the moment torch is there, not only in windows: libc10 notes the
 * sizes of its CPU blocks only while it is, and complains on the program's stderr
 * about each block it gives back without having noted it.
 */
static _Atomic bool wanted;

/* Loads are relaxed: the functions themselves were there long before. */
#define REAL(name) atomic_load_explicit(&real_##name, memory_order_relaxed)

/* Not under an allocator's mutex: the look-up takes the dynamic linker's lock. */
static void resolve(void)
{
	void *report, *exhausted;
	int saved = errno;

	if (atomic_exchange(&resolved, 1))
		return;
	report = abi_symbol("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
	if (!report)
		report = abi_symbol(
			"_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
	exhausted = abi_symbol("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");
	if (!exhausted)
		exhausted =
			abi_symbol("_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE");
	atomic_store(&real_report, (report_fn)report);
	atomic_store(&real_exhausted, (exhausted_fn)exhausted);
	atomic_store(&real_enabled,
		     (enabled_fn)abi_symbol("_ZN3c1022memoryProfilingEnabledEv"));
	errno = saved;
}

void memory_start(const struct config *cfg)
{
	resolve();
	atomic_store(&wanted, cfg->profile_memory);
}

bool memory_enabled(void)
{
	enabled_fn real;

	if (atomic_load_explicit(&wanted, memory_order_relaxed))
		return true;
	real = REAL(enabled);
	if (__builtin_expect(!real, 0)) {
		resolve();
		real = REAL(enabled);
	}
	return real && real();
}

static void record(enum record_kind kind, const void *ptr, int64_t bytes,
		   uint64_t allocated, uint64_t reserved, uint16_t device)
{
	int saved = errno;
	struct thread *t = emit_enter(kind);
	struct rec_memory *m;

	if (!t)
		return;
	m = emit_reserve(t, kind, sizeof(*m));
	if (m) {
		*m = (struct rec_memory){
			.r.begin = clock_ticks(),
			.addr = (uintptr_t)ptr,
			.bytes = bytes,
			.allocated = allocated,
			.reserved = reserved,
			.device_type = (int8_t)(device & 0xff),
			.device_index = (int8_t)(device >> 8),
		};
		emit_commit(t, &m->r, kind, 0, sizeof(*m));
	}
	emit_leave(t);
	errno = saved;
}

void memory_report(void *ptr, int64_t bytes, uint64_t allocated, uint64_t reserved,
		   uint16_t device)
{
	report_fn real = REAL(report);

	if (atomic_load_explicit(&wanted, memory_order_relaxed))
		record(REC_MEMORY, ptr, bytes, allocated, reserved, device);
	if (real)
		real(ptr, bytes, allocated, reserved, device);
}

void memory_exhausted(int64_t bytes, uint64_t allocated, uint64_t reserved,
		      uint16_t device)
{
	exhausted_fn real = REAL(exhausted);

	if (atomic_load_explicit(&wanted, memory_order_relaxed))
		record(REC_OOM, NULL, bytes, allocated, reserved, device);
	if (real)
		real(bytes, allocated, reserved, device);
}

#ifndef HOOK_NO_EXPORT

/* The names that libc10 and libc10_cuda call: the rows of agent/hooks/c10.def. */
#define EXPORT(ret, name, params)                               \
	ret name params __attribute__((visibility("default"))); \
	ret name params

EXPORT(bool, _ZN3c1022memoryProfilingEnabledEv, (void))
{
	return memory_enabled();
}

EXPORT(void, _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE,
       (void *ptr, int64_t bytes, int64_t allocated, int64_t reserved, uint16_t device))
{
	memory_report(ptr, bytes, (uint64_t)allocated, (uint64_t)reserved, device);
}

EXPORT(void, _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE,
       (void *ptr, int64_t bytes, uint64_t allocated, uint64_t reserved, uint16_t device))
{
	memory_report(ptr, bytes, allocated, reserved, device);
}

EXPORT(void, _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE,
       (int64_t bytes, int64_t allocated, int64_t reserved, uint16_t device))
{
	memory_exhausted(bytes, (uint64_t)allocated, (uint64_t)reserved, device);
}

EXPORT(void, _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE,
       (int64_t bytes, uint64_t allocated, uint64_t reserved, uint16_t device))
{
	memory_exhausted(bytes, allocated, reserved, device);
}

#endif
