/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_heap - the C and C++ heap's records.
 *
 * Threads  a record is written by the thread that allocates or frees.  What a thread
 *          does after its own end comes through the shared chunk of thread_last(), with
 *          a REC_THREAD before it that names the thread.
 * Memory   plain data.
 * Errors   none.
 * Units    bytes as requested by the program (HEAP counters: usable bytes).
 *
 * All are instants: r.begin is the moment, r.end an address.  A block's free is recorded
 * before the real one and its allocation after it, so that by time a block's address is
 * free before it is somebody else's.  A realloc that succeeds is a FREE of the old
 * address (begin: before the call) and an ALLOC of the new one, both HEAP_REALLOC.
 */
#ifndef CORE_RECORD_HEAP_H
#define CORE_RECORD_HEAP_H

#include "agent/core/record.h"

/* HEAP_CALL(name, text): what the program called; the low bits of flags. */
#define HEAP_CALLS(CALL)                  \
	CALL(MALLOC, "malloc")            \
	CALL(CALLOC, "calloc")            \
	CALL(REALLOC, "realloc")          \
	CALL(ALIGNED, "aligned_alloc")    \
	CALL(NEW, "operator new")         \
	CALL(NEW_ARRAY, "operator new[]") \
	CALL(FREE, "free")                \
	CALL(DELETE, "operator delete")   \
	CALL(PYMEM, "PyMem_Malloc")       \
	CALL(PYOBJECT, "PyObject_Malloc")

enum heap_call {
#define CALL(name, text) HEAP_##name,
	HEAP_CALLS(CALL)
#undef CALL
		HEAP_CALLS_END
};
/* Bits of flags. HEAP_OBJECT is a part of the calls of Python's small objects: a free
 * with such a call means nothing to another's block, unless that is a sample. */
enum {
	HEAP_OBJECT = 0x08,
	HEAP_CALL_MASK = 0x0f,
	HEAP_SAMPLED = 0x10 /* by bytes: see malloc_sample_kb */
};
_Static_assert((int)HEAP_PYMEM == (int)HEAP_OBJECT &&
		       (int)HEAP_CALLS_END <= 2 * (int)HEAP_OBJECT,
	       "calls of objects, and of nothing else, have the bit");

/* REC_ALLOC: r.name = id of the call stack (stack_pair.h, not names.h), 0 = none. */
struct rec_alloc {
	struct record r;
	uint64_t bytes;
};

/* REC_FREE: a struct record alone.  With HEAP_SAMPLED only of blocks that are sampled. */

/* REC_HEAP: counters at one moment, by the keeper's thread (malloc=count: sums since
 * counting began; else all 0 but for rss). r.end: the resident bytes that are no pages of
 * files; 0 = not known. */
enum heap_has { HEAP_HAS_COUNTS = 1, HEAP_HAS_RSS = 2 }; /* in flags */
struct rec_heap {
	struct record r;
	int64_t live; /* usable bytes allocated minus freed */
	uint64_t allocs, frees; /* calls */
	uint64_t allocated; /* usable bytes, all together */
	uint64_t rss; /* resident bytes of the process */
};

_Static_assert(sizeof(struct rec_alloc) == 32, "an allocation");
#endif
