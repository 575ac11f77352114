/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash - a number for bytes: for tables in memory, so that it may change at any time, but
 * for hash_symbol, which is part of ELF; and such a table.
 *
 * Threads  any.
 * Memory   of a table address space for the life of the process, and pages as far as they
 *          are used.
 * Errors   of a table NULL: `map` had no memory.  The next call tries again.
 * Units    bytes.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

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

#endif
