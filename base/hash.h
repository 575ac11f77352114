/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash - a number for bytes, for tables in memory: it may change at any time, but for
 * hash_symbol, which is part of ELF; and such tables.
 *
 * Threads  any; lock-free.
 * Memory   address space, and pages as far as they are used, until hash_forget.
 * Errors   NULL, id 0: no memory, the next call tries again; or no room to store.
 * Units    bytes.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/sys.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Word by word; the low bits are as good as the high ones. */
static inline uint64_t hash_bytes(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t h = len * 0x9e3779b97f4a7c15ull, word;

	for (; len >= 8; at += 8, len -= 8) {
		memcpy(&word, at, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, at, len);
	h = (h ^ word) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

/* A symbol's name as DT_GNU_HASH has it (the System V ABI's supplement of GNU). */
static inline uint32_t hash_symbol(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (uint8_t)*name++;
	return h;
}

/* The place of a number in a table of any size. */
static inline size_t hash_place(uint64_t number, size_t slots)
{
	uint64_t h = number * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
	return (size_t)(((unsigned __int128)h * slots) >> 64);
}

/* The table of words at *to; the first call puts map() there. Of threads that come first
 * together one table is taken, and the others' are left, never touched. */
static inline _Atomic uint64_t *hash_table(_Atomic uint64_t *_Atomic *to,
					   void *(*map)(void))
{
	_Atomic uint64_t *table = atomic_load_explicit(to, memory_order_acquire);
	_Atomic uint64_t *none = NULL;

	if (table)
		return table;
	table = map();
	if (table && !atomic_compare_exchange_strong(to, &none, table))
		return none;
	return table;
}

/* ---- an index: things that are stored once each ---- */
#define HASH_SLOTS  (1u << 16) /* a power of two */
#define HASH_PROBES 64

/* Hash in the high half, id in the low; 0 = empty. */
typedef _Atomic uint64_t *_Atomic hash_index;

static inline void *hash_map_index(void)
{
	return sys_map(HASH_SLOTS * sizeof(uint64_t));
}

/* The id of what `wanted` describes: `same` compares it with what is there, `store` puts
 * it there. In a crowded stretch of the index a thing is stored again each time. */
static inline uint32_t hash_intern(hash_index *at, uint32_t hash, const void *wanted,
				   bool (*same)(uint32_t id, const void *wanted),
				   uint32_t (*store)(const void *wanted))
{
	_Atomic uint64_t *index = hash_table(at, hash_map_index);
	uint32_t id = 0;

	for (uint32_t i = 0; index && i < HASH_PROBES; i++) {
		_Atomic uint64_t *slot = &index[(hash + i) & (HASH_SLOTS - 1)];
		uint64_t word = atomic_load_explicit(slot, memory_order_acquire);

		if (!word) {
			if (!id && !(id = store(wanted)))
				return 0;
			if (atomic_compare_exchange_strong_explicit(
				    slot, &word, (uint64_t)hash << 32 | id,
				    memory_order_release, memory_order_acquire))
				return id;
		}
		if (word >> 32 == hash && same((uint32_t)word, wanted))
			return (uint32_t)word;
	}
	return id || !index ? id : store(wanted);
}

static inline void hash_forget(hash_index *at)
{
	_Atomic uint64_t *index = atomic_exchange(at, NULL);

	if (index)
		munmap((void *)index, HASH_SLOTS * sizeof(uint64_t));
}

#endif
