/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of what the hooks of malloc and free do under `count` and `sample`, but for the
 * real functions: it is timed once in a process, as a whole. */
#include "agent/heap/pass.h"
#include "agent/core/cost.h"
#include "agent/heap/gap.h"
#include "agent/heap/mode.h"

#define PAIRS 64
#define TURNS 5 /* the shortest turn counts: the kernel may come into the others */

static struct {
	uint64_t left, sum[4];
} probe;

static __attribute__((noinline)) bool pass_malloc(void *p, size_t size)
{
	enum heap_mode mode = heap_mode();

	if (__builtin_expect(mode >= HEAP_COLD || size > probe.left, 0))
		return false;
	if (mode == HEAP_SAMPLE) {
		probe.left -= size;
		return guard_word & GUARD_LOOKS;
	}
	__asm__("incq %0" : "+m"(probe.sum[0]));
	__asm__("addq %1, %0" : "+m"(probe.sum[1]) : "r"((uint64_t)(uintptr_t)p));
	return guard_word & GUARD_LOOKS;
}

static __attribute__((noinline)) bool pass_free(void *p, size_t size)
{
	enum heap_mode mode = heap_mode();

	if (__builtin_expect(boot_owns(p), 0))
		return false;
	if (mode == HEAP_SAMPLE)
		return heap_maybe_sampled(p);
	__asm__("incq %0" : "+m"(probe.sum[2]));
	__asm__("addq %1, %0" : "+m"(probe.sum[3]) : "r"(size));
	return guard_word & GUARD_LOOKS;
}

void heap_pass_cost(struct cycle_info *info)
{
	static _Atomic uint64_t least;
	bool (*volatile in)(void *, size_t) = pass_malloc;
	bool (*volatile out)(void *, size_t) = pass_free;
	uint64_t found = atomic_load(&least);

	for (unsigned turn = 0; !atomic_load(&least) && turn < TURNS; turn++) {
		uint64_t begin = clock_ticks(), ticks;

		probe.left = UINT64_MAX;
		for (unsigned i = 0; i < PAIRS; i++)
			if (in(&probe, i + 1))
				out(&probe, i + 1);
			else
				out(info, i + 1);
		ticks = clock_ticks() - begin;
		found = !found || ticks < found ? ticks : found;
	}
	atomic_store(&least, found);
	atomic_store(&info->cost[COST_PASS].ticks, found);
	atomic_store(&info->cost[COST_PASS].samples, PAIRS);
}
