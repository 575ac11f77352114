/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gap - which blocks are samples: when a thread's next one is due, and which live blocks
 * are samples.
 *
 * Threads  a struct heap_gap belongs to one thread; the rest: any, without a lock.
 *          heap_samples_start, heap_samples_turn: the thread that begins a window.
 *          heap_samples_shrink: the only thread.
 * Memory   static filters, and 2 MiB that heap_samples_start maps (64 KiB, or
 *          as much as live samples need, where memory is scarce).
 * Errors   false: no room.
 * Units    bytes.
 */
#ifndef HEAP_GAP_H
#define HEAP_GAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- gap.c: gaps between samples, in bytes that the thread allocates ---- */

struct heap_gap {
	uint64_t left; /* bytes until the thread's next sample */
	uint64_t random; /* 0 = not seeded */
};
extern __thread struct heap_gap heap_gap __attribute__((tls_model("initial-exec")));
/* Equal seeds draw equal gaps; heap_gap_next draws one of `mean` bytes on average. */
void heap_gap_seed(struct heap_gap *g, uint64_t seed);
void heap_gap_next(struct heap_gap *g, uint64_t mean);
double heap_gap_log(double x); /* natural, of (0, 1] */

/* ---- samples.c: which live blocks are samples ---- */

/* Samples by the hash of their address, in this window: a byte that is 0 says that no
 * block with that hash is a sample. */
#define HEAP_FILTER (64 * 1024)
extern _Atomic uint8_t *_Atomic heap_filter;

static inline uint32_t heap_filter_at(const void *p)
{
	uintptr_t a = (uintptr_t)p;

	return (uint32_t)(a >> 4 ^ a >> 20) % HEAP_FILTER;
}
/* Is the block at `p` a sample? false: certainly not; true, and cold: heap_samples_take
 * knows. */
static inline bool heap_maybe_sampled(const void *p)
{
	const _Atomic uint8_t *filter =
		atomic_load_explicit(&heap_filter, memory_order_relaxed);

	return __builtin_expect(atomic_load_explicit(&filter[heap_filter_at(p)],
						     memory_order_relaxed) != 0,
				0);
}

bool heap_samples_add(const void *p); /* false: no room */
bool heap_samples_take(const void *p); /* was it a sample? Then it is none any more. */
bool heap_samples_start(void); /* before the first window; false: no memory */
void heap_samples_turn(void); /* a window begins: nothing is sampled */
void heap_samples_shrink(void); /* memory is scarce now */

#endif
