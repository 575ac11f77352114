/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk - the pieces that a spool is handed out in.
 *
 * Threads  any, lock-free.
 * Memory   in the spool; addressed by byte offset from its start.
 * Errors   0 at the cap, and where no page can be had.
 * Units    bytes.
 */
#ifndef CORE_CHUNK_H
#define CORE_CHUNK_H

#include "agent/core/spool.h"

#define CHUNK_MAGIC  0x4b4e4843u
#define CHUNK_SMALL  4096u
#define CHUNK_MIDDLE 16384u
#define CHUNK_LARGE  65536u

enum chunk_kind {
	CHUNK_FREE = 1,
	CHUNK_DATA, /* records of threads */
	CHUNK_NAMES,
	CHUNK_CYCLE,
	CHUNK_CUDA, /* records of a cycle's GPU part: agent/core/gpu_chunk.h */
	CHUNK_STACKS, /* call stacks, modules, Python's code: stacks.h, codes.h */
	CHUNK_COUNTERS /* struct spool_counters; next_left links to the one before */
};

struct chunk {
	uint32_t magic;
	uint32_t size; /* bytes with this header: SMALL, MIDDLE or LARGE */
	_Atomic uint32_t kind; /* enum chunk_kind */
	_Atomic uint32_t used; /* committed bytes with this header */
	_Atomic uint32_t taken; /* the writer has read it: later commits are late */
	uint32_t spare;
	uint64_t cycle; /* cycle number (DATA) */
	_Atomic uint64_t next_free; /* offset, while FREE */
	_Atomic uint64_t next_left; /* offset, while a dead thread's leftover */
	uint64_t pad[2];
};
_Static_assert(sizeof(struct chunk) == 64, "chunk header");

/* A chunk of `kind` for cycle `cycle`, at least `size` bytes; 0 at the cap. */
uint64_t chunk_take(enum chunk_kind kind, uint32_t size, uint64_t cycle);
void chunk_give(uint64_t offset);
/* May the heap have more? A quarter of what there is, and 8 MiB at least, but no more
 * than half, is kept for operators, steps, the GPU's records and names; and where the
 * control group is nearly full, the job's page says how much may be in use. */
bool chunk_spares(void);
/* The limit was lowered: so many bytes are left, of which a quarter is kept at most.
 * UINT64_MAX: the limit is where it was. */
void chunk_left(uint64_t bytes);
/* Why there was no room for a record of `kind`. */
enum drop_kind chunk_lacks(enum record_kind kind);
/* Chunks of one kind that all threads put entries into, one chunk after the other. */
struct chunk_fill {
	_Atomic uint64_t chunk; /* offset of the chunk that takes new entries */
	_Atomic uint64_t taken; /* bytes of all so far */
};
/* Offset of room for `size` bytes; the chunks of `f` take cap / share together at most.
 * 0: no room. */
uint64_t chunk_room(struct chunk_fill *f, enum chunk_kind kind, uint32_t size,
		    unsigned share);
void chunk_forget(void); /* part of spool_forget */

static inline struct chunk *chunk_at(uint64_t offset)
{
	return (struct chunk *)(spool.base + offset);
}

#endif
