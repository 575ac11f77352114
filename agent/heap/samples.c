/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which live blocks are samples. Every free asks, so a small filter that counts answers
 * nearly all of them; behind it lies a table with open addressing. A slot names its
 * window: what an older one left counts as free.
 */
#include "agent/core/spool.h"
#include "agent/heap/gap.h"
#include "base/hash.h"
#include "base/seldom.h"
#include "base/sys.h"

#include <string.h>
#include <sys/mman.h>

#define SLOTS     (1u << 18)
#define SCARCE    (1u << 13) /* ... where memory is limited: 64 KiB */
#define SPARE     4 /* slots for each live sample that is taken along */
#define PROBES    64
#define TURN_BITS 16 /* above the 48 bits of an address */
#define TURNS     ((1u << TURN_BITS) - 1) /* then turns begin anew; 0: an empty slot */
#define STUCK     255 /* a filter byte that has counted too far stays set */

/* Two filters, by turns: a window that begins finds an empty one. */
static SELDOM _Atomic uint8_t filters[2][HEAP_FILTER];
_Atomic uint8_t *_Atomic heap_filter = filters[0];
static _Atomic uint32_t turns; /* counts windows */
static _Atomic uint64_t *slots;
static uint32_t slots_n; /* a power of two */

/* The agent begins later, and knows only then whether memory is scarce. */
static bool is_scarce(void)
{
	uint64_t size = SLOTS * sizeof(*slots);

	return spool_room(size, UINT64_MAX) < size;
}

bool heap_samples_start(void)
{
	if (slots)
		return true;
	slots_n = is_scarce() ? SCARCE : SLOTS;
	slots = sys_map(slots_n * sizeof(*slots));
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

static bool is_current(uint64_t slot, uint64_t turn)
{
	return slot >> (64 - TURN_BITS) == key_of(NULL, turn) >> (64 - TURN_BITS);
}

static const void *block_of(uint64_t key)
{
	return (const void *)(uintptr_t)(key << TURN_BITS >> TURN_BITS);
}

/* Its place among the probes for the block at `p`. */
static _Atomic uint64_t *slot_at(const void *p, uint32_t probe)
{
	return &slots[(hash_place((uintptr_t)p >> 4, slots_n) + probe) & (slots_n - 1)];
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

enum put { PUT_NOWHERE, PUT_NEW, PUT_AGAIN };

static enum put put_in_slot(const void *p, uint64_t turn)
{
	uint64_t key = key_of(p, turn);

	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot = slot_at(p, i);
		uint64_t was = atomic_load_explicit(slot, memory_order_relaxed);

		if (was == key)
			return PUT_AGAIN;
		if (!is_current(was, turn) &&
		    atomic_compare_exchange_strong(slot, &was, key))
			return PUT_NEW;
	}
	return PUT_NOWHERE;
}

/* What is there already was freed by a way that we did not see. */
bool heap_samples_add(const void *p)
{
	uint64_t turn = turn_now();
	enum put put = put_in_slot(p, turn);

	if (put == PUT_NEW)
		count_in_filter(p, turn, 1);
	return put != PUT_NOWHERE;
}

/* A slot that was freed says nothing of those behind it: so all probes are looked at. */
bool heap_samples_take(const void *p)
{
	uint64_t turn = turn_now(), key = key_of(p, turn);

	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot = slot_at(p, i);
		uint64_t was = key;

		if (atomic_load_explicit(slot, memory_order_relaxed) != key)
			continue;
		if (!atomic_compare_exchange_strong(slot, &was, 0))
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
		memset((void *)slots, 0, slots_n * sizeof(*slots));
	atomic_store_explicit(&heap_filter, filters[next % 2], memory_order_release);
	atomic_store_explicit(&turns, next, memory_order_release);
}

static uint32_t count_live(uint64_t turn)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i < slots_n; i++)
		live += is_current(slots[i], turn);
	return live;
}

static void gather_at_end(uint64_t turn)
{
	uint32_t end = slots_n;

	for (uint32_t i = slots_n; i-- > 0;)
		if (is_current(slots[i], turn))
			slots[--end] = slots[i];
}

/* The last `live` ones of n slots, into the first slots_n. */
static bool put_all(uint32_t live, uint32_t n, uint64_t turn)
{
	memset((void *)slots, 0, slots_n * sizeof(*slots));
	for (uint32_t i = n - live; i < n; i++)
		if (put_in_slot(block_of(slots[i]), turn) == PUT_NOWHERE)
			return false;
	return true;
}

/* In its place: there is a limit already, and another table would be too much. No live
 * sample is left behind: its free would not be seen. So what does not find a slot in a
 * fourth has one in a larger part. */
void heap_samples_shrink(void)
{
	uint64_t turn = turn_now();
	uint32_t n = slots_n, live = slots ? count_live(turn) : 0, fewer = SCARCE;

	while (fewer < SPARE * live)
		fewer *= 2;
	if (!slots || fewer >= n)
		return;
	gather_at_end(turn);
	for (slots_n = fewer; !put_all(live, n, turn) && slots_n < n / 2; slots_n *= 2)
		;
	munmap((void *)(slots + slots_n), (n - slots_n) * sizeof(*slots));
}
