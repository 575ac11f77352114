/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_parts - what the files behind malloc share.  Hot path.
 *
 * Threads  any, at any time, in any state: no lock, no malloc.
 * Memory   static.
 * Errors   none of our own; errno stays the real function's.
 * Units    bytes.
 */
#ifndef HOOKS_HEAP_PARTS_H
#define HOOKS_HEAP_PARTS_H

#include "agent/core/record_heap.h"
#include "agent/core/thread.h"
#include "agent/hooks/heap.h"
#include "agent/hooks/hook.h"
#include "agent/hooks/malloc_boot.h"

#include <stdatomic.h>

/* Sanitizers bring their own malloc: no hooks in such builds of the agent. */
#if defined SANITIZED_ADDRESS || defined SANITIZED_THREAD
#define HEAP_HOOKS 0
#else
#define HEAP_HOOKS 1
#endif

/* What is to be done at each call; one word, so that nothing costs one look at it. */
enum heap_mode {
	HEAP_IDLE, /* nothing: the real function is jumped to */
	HEAP_COUNT,
	HEAP_SAMPLE,
	HEAP_ALL,
	HEAP_COLD, /* the real functions are not known yet */
	HEAP_ASLEEP /* a fresh child: its first call may open a window */
};

/* ---- malloc_find.c: the real functions ---- */

struct heap_real {
	_Atomic uint32_t mode; /* enum heap_mode; while it is not HEAP_COLD ... */
	_Atomic uint32_t changes; /* of mode, so far */
#define HOOK(ret, name, params) ret(*name) params; /* ... all of the C ones are set */
#include "agent/hooks/malloc.def"
#undef HOOK
};
extern struct heap_real heap_real;

/* False: another call is at it just now (or this very one), so use malloc_boot.h. */
bool heap_find(void);
/* malloc_cxx.c: what the code at `caller` means by a form of operator new or delete (of
 * heap_real) that is not known. NULL: there is none. */
void *heap_find_cxx(void **slot, const void *caller);
/* Is that form of operator new (of heap_real) in the library that has malloc? */
bool heap_has_new(void *const *slot);
bool heap_is_glibc(void); /* the library that has malloc; after heap_find */
/* Who has malloc before us; NULL: nobody. "": the program itself. */
const char *heap_ahead(void);

static inline enum heap_mode heap_mode(void)
{
	return (enum heap_mode)atomic_load_explicit(&heap_real.mode,
						    memory_order_acquire);
}

static inline bool heap_idle(void)
{
	return __builtin_expect(heap_mode() == HEAP_IDLE, 1);
}

static inline uint32_t heap_changes(void)
{
	return atomic_load_explicit(&heap_real.changes, memory_order_acquire);
}

/* ---- heap_sample.c: gaps between samples ---- */

struct heap_gap {
	uint64_t left; /* bytes until the thread's next sample */
	uint64_t random; /* 0 = not seeded */
};
extern __thread struct heap_gap heap_gap __attribute__((tls_model("initial-exec")));
extern struct heap_settings {
	uint32_t mode; /* enum heap_mode, in windows */
	bool stacks, always; /* malloc_since = start */
	uint64_t sample_bytes, seed;
} heap_settings;

void heap_gap_seed(struct heap_gap *g, uint64_t seed);
void heap_gap_next(struct heap_gap *g, uint64_t mean);
double heap_gap_log(double x); /* natural, of (0, 1] */

/* ---- heap_record.c ---- */

#define HEAP_FRAME ((uintptr_t)__builtin_frame_address(0))

enum heap_part {
	HEAP_PASS, /* part of a recorded call, or ours: not to be seen */
	HEAP_QUIET, /* not to be recorded, but what it calls must not be either */
	HEAP_WANTED
};

void heap_wake(void); /* heap.c: HEAP_ASLEEP no more */

/* Is thread_guard's call still on the stack? Cold. kind: what is lost where that is a
 * signal handler's in the middle of a record of ours. */
bool heap_inside(uintptr_t frame, enum record_kind kind);
bool heap_sampled_now(size_t size); /* the gap is over, or there is none yet */

/* An allocation begins; `frame` is the hook's. But for HEAP_PASS the thread is guarded:
 * until heap_leave, or heap_made, which records it. */
static inline enum heap_part heap_enter(uintptr_t frame, size_t size)
{
	if (__builtin_expect(thread_guard != 0, 0) && heap_inside(frame, REC_ALLOC))
		return HEAP_PASS;
	thread_guard = frame;
	if (heap_mode() != HEAP_SAMPLE)
		return HEAP_WANTED;
	if (__builtin_expect(size > heap_gap.left, 0))
		return heap_sampled_now(size) ? HEAP_WANTED : HEAP_QUIET;
	heap_gap.left -= size;
	return HEAP_QUIET;
}
static inline void heap_leave(void)
{
	thread_guard = 0;
}
/* HEAP_WANTED's end: it gave p, or NULL. */
void heap_made(enum heap_call call, void *p, size_t size);
/* A block is about to be freed. True: end that by heap_leave. */
bool heap_gone(uintptr_t frame, enum heap_call call, void *p);

/* malloc and free of HEAP_ALL, not nested. p: not NULL. */
void *heap_malloc(size_t size);
void heap_free(void *p);

/* malloc.c: our own malloc and free, by names that a part of ours may call. */
void *heap_any_malloc(size_t size);
void heap_any_free(void *p);

struct heap_move { /* realloc */
	enum heap_part part;
	void *old;
	uint64_t begin; /* ticks */
	size_t usable;
	bool sampled;
};
void heap_move_begins(struct heap_move *m, uintptr_t frame, void *old, size_t size);
void heap_moved(const struct heap_move *m, void *p, size_t size);

/* ---- heap_count.c ---- */

/* Counters since they began; usable bytes. */
enum { COUNT_ALLOCS, COUNT_ALLOCATED, COUNT_FREES, COUNT_FREED };
void heap_sum(uint64_t sum[THREAD_HEAP]);
void heap_sum_forget(void);
/* COUNT_ALLOCS or COUNT_FREES, and the bytes of it. */
void heap_count(unsigned what, size_t usable);
size_t heap_usable(void *p); /* p: not NULL */
/* malloc and free of HEAP_COUNT, not nested. p: not NULL. */
void *heap_malloc_counted(size_t size);
void heap_free_counted(void *p);
/* malloc is glibc's: its blocks may be told from their headers. */
void heap_sizes_try(void);

/* ---- heap_table.c: which blocks are samples ---- */

#define HEAP_FILTER (64 * 1024)
extern _Atomic uint8_t *_Atomic heap_filter; /* of this window */
static inline uint32_t heap_filter_at(const void *p)
{
	uintptr_t a = (uintptr_t)p;

	return (uint32_t)(a >> 4 ^ a >> 20) % HEAP_FILTER;
}
static inline bool heap_maybe_sampled(const void *p)
{
	const _Atomic uint8_t *filter =
		atomic_load_explicit(&heap_filter, memory_order_relaxed);

	return __builtin_expect(atomic_load_explicit(&filter[heap_filter_at(p)],
						     memory_order_relaxed) != 0,
				0);
}
bool heap_samples_add(const void *p); /* false: no room */
bool heap_samples_take(const void *p); /* was it one? Then it is none any more. */
void heap_samples_turn(void); /* a window begins: nothing is sampled */

#endif
