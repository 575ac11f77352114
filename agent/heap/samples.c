/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which live blocks are samples. Every free asks, so a small filter that counts answers
 * nearly all of them; behind it lies a table with open addressing. A slot names its
 * window: what an older one left counts as free.
 */
#include "agent/heap/gap.h"
#include "base/seldom.h"
#include "base/sys.h"

#include <string.h>

#define SLOTS     (1u << 18)
#define PROBES    64
#define TURN_BITS 16 /* above the 48 bits of an address */
#define TURNS     ((1u << TURN_BITS) - 1) /* then turns begin anew; 0: an empty slot */
#define STUCK     255 /* a filter byte that has counted too far stays set */

/* Two filters, by turns: a window that begins finds an empty one. */
static SELDOM _Atomic uint8_t filters[2][HEAP_FILTER];
_Atomic uint8_t *_Atomic heap_filter = filters[0];
static _Atomic uint32_t turns; /* counts windows */
static _Atomic uint64_t *slots;

bool heap_samples_start(void)
{
	if (!slots)
		slots = sys_map(SLOTS * sizeof(*slots));
	return slots;
}

static uint64_t turn_now(void)
{
	return atomic_load_explicit(&turns, memory_order_acquire);
}

static uint64_t key_of(const void *p, uint64_t turn)
{
	return (uint64_t)(uintptr_t)p << TURN_BITS >> TURN_BITS |
	       (turn % TURNS + 1) << (64 - TURN_BITS);
}

static uint32_t first_slot(const void *p)
{
	return (uint32_t)(((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15ull >> 40) % SLOTS;
}

/* Adds `by`, 1 or -1, to the filter's byte. A byte at STUCK stays so: what it should
 * count is not known any more. */
static void count_in_filter(const void *p, uint64_t turn, int by)
{
	_Atomic uint8_t *c = &filters[turn % 2][heap_filter_at(p)];
	uint8_t n = atomic_load_explicit(c, memory_order_relaxed);

	do {
		if (n == STUCK || (by < 0 && !n))
			return;
	} while (!atomic_compare_exchange_weak(c, &n, (uint8_t)(n + by)));
}

bool heap_samples_add(const void *p)
{
	uint64_t turn = turn_now(), key = key_of(p, turn);
	uint32_t at = first_slot(p);

	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot = &slots[(at + i) % SLOTS];
		uint64_t was = atomic_load_explicit(slot, memory_order_relaxed);

		if (was == key) /* freed by a way that we did not see */
			return true;
		if (was >> (64 - TURN_BITS) == key >> (64 - TURN_BITS))
			continue;
		if (atomic_compare_exchange_strong(slot, &was, key)) {
			count_in_filter(p, turn, 1);
			return true;
		}
	}
	return false;
}

/* A slot that was freed says nothing of those behind it: so all probes are looked at. */
bool heap_samples_take(const void *p)
{
	uint64_t turn = turn_now(), key = key_of(p, turn);
	uint32_t at = first_slot(p);

	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t was = key;

		if (atomic_load_explicit(&slots[(at + i) % SLOTS],
					 memory_order_relaxed) != key)
			continue;
		if (!atomic_compare_exchange_strong(&slots[(at + i) % SLOTS], &was, 0))
			return false; /* freed twice: the program's affair */
		count_in_filter(p, turn, -1);
		return true;
	}
	return false;
}

/* The filter that becomes current has not been in use for a window, so it is cleared.
 * Where turns begin anew, slots that are left from the first ones must not look
 * current. */
void heap_samples_turn(void)
{
	uint32_t next = (uint32_t)turn_now() + 1;

	memset((void *)filters[next % 2], 0, HEAP_FILTER);
	if (slots && next % TURNS == 0)
		memset((void *)slots, 0, SLOTS * sizeof(*slots));
	atomic_store_explicit(&heap_filter, filters[next % 2], memory_order_release);
	atomic_store_explicit(&turns, next, memory_order_release);
}
