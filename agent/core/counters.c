/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of counters in the spool: taken once for a thread's state, and never given back.
 */
#include "agent/core/counters.h"

#include <string.h>

/* A slot in the newest chunk, or NULL. */
static struct spool_counters *slot_of(uint64_t chunk)
{
	struct chunk *c = chunk_at(chunk);
	uint32_t size = sizeof(struct spool_counters), used = atomic_load(&c->used);

	while (used + size <= c->size)
		if (atomic_compare_exchange_weak(&c->used, &used, used + size))
			return (struct spool_counters *)((uint8_t *)c + used);
	return NULL;
}

/* Nobody gives a slot back: what a dead thread has allocated stays in the sums, and the
 * thread that reuses its state goes on in its slot. */
struct spool_counters *counters_take(void)
{
	struct spool_header *h = spool.head;
	struct spool_counters *slot;
	uint64_t newest, fresh;

	for (;;) {
		if (!h)
			return NULL;
		newest = atomic_load(&h->counters);
		slot = newest ? slot_of(newest) : NULL;
		if (slot)
			return slot;
		fresh = chunk_take(CHUNK_COUNTERS, CHUNK_SMALL, 0);
		if (!fresh)
			return NULL;
		/* A chunk that was given back has its last owner's bytes in it. */
		memset(chunk_at(fresh) + 1, 0, CHUNK_SMALL - sizeof(struct chunk));
		atomic_store(&chunk_at(fresh)->next_left, newest);
		if (!atomic_compare_exchange_strong(&h->counters, &newest, fresh))
			chunk_give(fresh);
	}
}

void counters_sum(uint64_t sum[SPOOL_COUNTERS])
{
	uint64_t at = spool.head ? atomic_load(&spool.head->counters) : 0;

	memset(sum, 0, SPOOL_COUNTERS * sizeof(sum[0]));
	for (; at; at = atomic_load(&chunk_at(at)->next_left)) {
		struct chunk *c = chunk_at(at);
		struct spool_counters *slot = (struct spool_counters *)(c + 1);
		uint8_t *end = (uint8_t *)c + atomic_load(&c->used);

		for (; (uint8_t *)(slot + 1) <= end; slot++)
			for (unsigned i = 0; i < SPOOL_COUNTERS; i++)
				sum[i] += atomic_load_explicit(&slot->sum[i],
							       memory_order_relaxed);
	}
}
