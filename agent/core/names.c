/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in the spool, each once: an index by hash, private to the process, finds the id
 * of a text that is there already. */
#include "agent/core/names.h"
#include "base/hash.h"
#include "base/sys.h"

#include <sys/mman.h>

#define SLOTS     (1u << 16) /* of the lock-free index; a power of two */
#define PROBES    64
#define TEXT_MOST 8192 /* longer names are cut */
#define SHARE     4 /* names may take cap / SHARE bytes */

/* Slot: hash in the high half, id in the low; 0 = empty. Private to the process. */
static _Atomic uint64_t *_Atomic slots;
static struct chunk_fill fill;

uint32_t names_epoch = 1;

static const struct name *name_at(uint32_t id)
{
	return (const struct name *)(spool.base + (uint64_t)id * 8);
}

static bool same_name(uint32_t id, uint32_t hash, const char *text, size_t len,
		      const char *extra, size_t extra_len)
{
	const struct name *n = name_at(id);

	return n->hash == hash && n->len == len && n->extra_len == extra_len &&
	       !memcmp(n->text, text, len) &&
	       (!extra_len || !memcmp(n->text + len + 1, extra, extra_len));
}

/* Plain stores: no thread knows the id before the index has it. */
static uint32_t store_name(uint32_t hash, const char *text, size_t len, const char *extra,
			   size_t extra_len)
{
	uint32_t size =
		(uint32_t)((sizeof(struct name) + len + extra_len + 2 + 7) & ~7ull);
	uint64_t where = chunk_room(&fill, CHUNK_NAMES, size, SHARE);
	struct name *n;

	if (!where)
		return 0;
	n = (struct name *)(spool.base + where);
	memcpy(n->text, text, len);
	n->text[len] = '\0';
	if (extra_len)
		memcpy(n->text + len + 1, extra, extra_len);
	n->text[len + 1 + extra_len] = '\0';
	n->len = (uint16_t)len;
	n->extra_len = (uint16_t)extra_len;
	n->hash = hash;
	return (uint32_t)(where / 8);
}

static void *map_slots(void)
{
	return sys_map(SLOTS * sizeof(*slots));
}

uint32_t names_add(const char *text, size_t len, const char *extra, size_t extra_len)
{
	_Atomic uint64_t *index = hash_table(&slots, map_slots);
	uint32_t hash, id = 0;

	if (!index || !spool.head)
		return 0;
	len = len > TEXT_MOST ? TEXT_MOST : len;
	extra_len = extra_len > TEXT_MOST ? TEXT_MOST : extra_len;
	hash = (uint32_t)hash_bytes(text, len);
	if (extra_len)
		hash = hash * 31 + (uint32_t)hash_bytes(extra, extra_len);
	/* When two threads store one text at once, the one whose swap comes second finds
	 * the other's id in the slot and takes it; its own copy is never looked at. */
	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot = &index[(hash + i) & (SLOTS - 1)];
		uint64_t word = atomic_load_explicit(slot, memory_order_acquire);

		if (!word) {
			if (!id && !(id = store_name(hash, text, len, extra, extra_len)))
				return 0;
			if (atomic_compare_exchange_strong_explicit(
				    slot, &word, (uint64_t)hash << 32 | id,
				    memory_order_release, memory_order_acquire))
				return id;
		}
		if (word >> 32 == hash &&
		    same_name((uint32_t)word, hash, text, len, extra, extra_len))
			return (uint32_t)word;
	}
	/* A crowded stretch of the index: the text is stored again each time. */
	return id ? id : store_name(hash, text, len, extra, extra_len);
}

void names_forget(void)
{
	_Atomic uint64_t *index = atomic_exchange(&slots, NULL);

	if (index)
		munmap((void *)index, SLOTS * sizeof(*index));
	names_epoch++;
	atomic_store(&fill.chunk, 0);
	atomic_store(&fill.taken, 0);
}

/* All lengths are checked: the spool may be one that a crash has left half written. */
const struct name *names_get(const struct spool_view *v, uint32_t id)
{
	uint64_t where = (uint64_t)id * 8;
	const struct name *n;

	if (where < SPOOL_HEADER || where + sizeof(*n) > v->size)
		return NULL;
	n = (const struct name *)(v->base + where);
	if (n->len > TEXT_MOST || n->extra_len > TEXT_MOST ||
	    where + sizeof(*n) + n->len + n->extra_len + 2u > v->size)
		return NULL;
	return n;
}
