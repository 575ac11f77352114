/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapping gets smaller for a moment, or for good: where the program locks all of its
 * memory, limits it, or forbids itself what we need to have more.
 */
#include "agent/core/chunk.h"

#include <errno.h>
#include <sys/mman.h>

#define UNIT 65536ull

static uint64_t taken; /* the true `used`, while hold_rest has set it to cap */
static uint64_t left = UINT64_MAX; /* bytes left by spool_settle; UINT64_MAX = all */

static uint64_t round_to_unit(uint64_t n)
{
	return (n + UNIT - 1) & ~(UNIT - 1);
}

/* Takes all that was not handed out, so that no thread gets a chunk of it; returns
 * `used`. */
static uint64_t hold_rest(struct spool_header *h)
{
	uint64_t used = atomic_load(&h->used);

	while (!atomic_compare_exchange_weak(&h->used, &used, spool.cap))
		;
	return used;
}

void spool_shrink(uint64_t room)
{
	uint64_t keep;
	int saved = errno;

	if (!spool.base)
		return;
	taken = spool.head ? hold_rest(spool.head) : 0;
	keep = round_to_unit(taken + room);
	keep = keep < UNIT ? UNIT : keep;
	keep = keep < spool.cap ? keep : spool.cap;
	__atomic_store_n(&spool.now, keep, __ATOMIC_SEQ_CST); /* readers see no further */
	if (keep < spool.cap)
		munmap(spool.base + keep, spool.cap - keep);
	errno = saved;
}

static void open_no_more_than(uint64_t cap)
{
	if (atomic_load(&spool.open) > cap)
		atomic_store(&spool.open, cap);
}

/* From now on only what is mapped is handed out. */
static void release_rest(struct spool_header *h, uint64_t limit)
{
	if (!h)
		return;
	if (limit < atomic_load(&h->limit))
		atomic_store(&h->limit, limit);
	atomic_store(&h->used, taken);
}

void spool_settle(void)
{
	int saved = errno;

	if (!spool.base)
		return;
	spool.cap = spool.now;
	open_no_more_than(spool.cap);
	release_rest(spool.head, spool.cap);
	left = spool.cap > taken ? spool.cap - taken : 0;
	chunk_left(left);
	errno = saved;
}

/* The mapping grows in its own place or not at all, for threads have pointers into it.
 * Where another mapping lies behind it by now, it stays small. It has to be one mapping
 * for that. */
void spool_regrow(void)
{
	int saved = errno;

	if (!spool.base)
		return;
	munlock(spool.base, spool.now);
	spool_join_pages();
	mprotect(spool.base, spool.now, PROT_READ | PROT_WRITE);
	if (spool.now < spool.cap &&
	    mremap(spool.base, spool.now, spool.cap, 0) != spool.base)
		spool.cap = spool.now;
	spool.now = spool.cap;
	/* Nothing of it is closed again: a thread may just have opened it. */
	atomic_store(&spool.open, spool.cap);
	release_rest(spool.head, spool.cap);
	errno = saved;
}

static uint64_t limit_before; /* before spool_confine; 0 = it has changed nothing */

/* Under seccomp no page can be populated any more. All that may ever be written is
 * populated now, and the limit moves to where that ends. */
void spool_confine(uint64_t ahead)
{
	struct spool_header *h = spool.head;
	uint64_t ready;

	limit_before = 0;
	if (!h)
		return;
	spool_head_has(h, SPOOL_HEADER);
	spool_prepare(ahead);
	ready = atomic_load(&h->ready);
	if (ready >= atomic_load(&h->limit))
		return;
	limit_before = atomic_load(&h->limit);
	atomic_store(&h->limit, ready);
	chunk_left(ready - atomic_load(&h->used));
}

void spool_unconfine(void)
{
	if (spool.head && limit_before)
		atomic_store(&spool.head->limit, limit_before);
	chunk_left(left);
	limit_before = 0;
}
