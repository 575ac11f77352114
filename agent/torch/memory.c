/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of tensor memory. libc10 calls these functions by name, and as ours come first
 * in the program's list of libraries, it calls ours; each then calls libc10's own, so
 * that torch's profiler hears all that it would hear without us.
 */
#include "agent/torch/memory.h"

#include "agent/core/cost.h"
#include "agent/core/emit_short.h"
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
static _Atomic uint32_t resolved; /* 1 = a thread looks them up, or has */

/*
 * Our answer is true once torch is there, not only in windows: libc10 notes the sizes of
 * its CPU blocks only while the answer is true, and complains on the program's stderr
 * about each block it gives back without having noted it.
 */
static _Atomic bool wanted;

/* Loads are relaxed: the functions themselves were there long before. */
#define REAL(name) atomic_load_explicit(&real_##name, memory_order_relaxed)

/* Never called under an allocator's mutex: the look-up takes the linker's lock. */
static void resolve_real(void)
{
	void *enabled = NULL, *report = NULL, *exhausted = NULL;
	int saved = errno;

	if (atomic_exchange(&resolved, 1))
		return;
#define HOOK(type, name, parameters, body) body = body ? body : abi_symbol(#name);
#include "agent/torch/c10.def"
#undef HOOK
	atomic_store(&real_report, (report_fn)report);
	atomic_store(&real_exhausted, (exhausted_fn)exhausted);
	atomic_store(&real_enabled, (enabled_fn)enabled);
	errno = saved;
}

void memory_start(const struct config *cfg)
{
	resolve_real();
	atomic_store(&wanted, cfg->profile_memory);
}

/* libc10 asks at each of its CPU allocations. */
bool memory_enabled(void)
{
	enabled_fn real;

	if (atomic_load_explicit(&wanted, memory_order_relaxed))
		return true;
	real = REAL(enabled);
	if (__builtin_expect(!real, 0)) {
		resolve_real();
		real = REAL(enabled);
	}
	return real && real();
}

static void put_memory(enum record_kind kind, const void *ptr, int64_t bytes,
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

static void emit_memory(enum record_kind kind, const void *ptr, int64_t bytes,
			uint64_t allocated, uint64_t reserved, uint16_t device)
{
	bool timed = thread_mine && gate_cycle() && emit_is_timed(thread_mine);
	struct cost_span span;

	if (timed)
		span = cost_begin();
	put_memory(kind, ptr, bytes, allocated, reserved, device);
	if (timed)
		cost_end(span, COST_MEMORY);
}

void memory_report(void *ptr, int64_t bytes, uint64_t allocated, uint64_t reserved,
		   uint16_t device)
{
	report_fn real = REAL(report);

	if (atomic_load_explicit(&wanted, memory_order_relaxed))
		emit_memory(REC_MEMORY, ptr, bytes, allocated, reserved, device);
	if (real)
		real(ptr, bytes, allocated, reserved, device);
}

void memory_exhausted(int64_t bytes, uint64_t allocated, uint64_t reserved,
		      uint16_t device)
{
	exhausted_fn real = REAL(exhausted);

	if (atomic_load_explicit(&wanted, memory_order_relaxed))
		emit_memory(REC_OOM, NULL, bytes, allocated, reserved, device);
	if (real)
		real(bytes, allocated, reserved, device);
}

#ifndef HOOK_NO_EXPORT /* the names that libc10 and libc10_cuda call */
#define HOOK(type, name, parameters, body) \
	type name parameters               \
		__attribute__((visibility("default"), alias("memory_" #body)));
#include "agent/torch/c10.def"
#undef HOOK
#endif
