/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapping gets smaller for a moment, or for good: where the program locks all of its
 * memory, limits it, or forbids itself what we need to have more.
 */
#include "agent/core/chunk.h"
#include "base/sys.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#define UNIT    65536ull
#define NAP     20000 /* ns */
#define LONGEST 50000000ll /* ns, for threads that have it pinned */
#define PARTS   16 /* of what was unmapped: one by one they are given up */

static uint64_t left = UINT64_MAX; /* bytes left by spool_bound; UINT64_MAX = all */

static uint64_t round_to_unit(uint64_t n)
{
	return (n + UNIT - 1) & ~(UNIT - 1);
}

/* A moment after the unmapping something of the program's may lie there. */
static bool wait_unpinned(void)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + LONGEST;

	atomic_store(&spool.small, true);
	while (atomic_load(&spool.pins) && sys_clock_ns(CLOCK_MONOTONIC) < until)
		sys_nap(NAP);
	if (!atomic_load(&spool.pins))
		return true;
	atomic_store(&spool.small, false);
	return false;
}

/* What is handed out, which stays as it is while the spool is small, and `room`. */
static uint64_t size_with(uint64_t room)
{
	uint64_t used = spool.head ? atomic_load(&spool.head->used) : 0;
	uint64_t size = round_to_unit(used + room);

	size = size < UNIT ? UNIT : size;
	return size < spool.cap ? size : spool.cap;
}

/* `ready`: what may be written of it, once all is there again. */
static void cut_at(uint64_t keep, uint64_t ready)
{
	uint64_t there = spool.now; /* behind it may lie something of the program's */
	int saved = errno;

	if (spool.head && atomic_load(&spool.head->ready) > ready)
		atomic_store(&spool.head->ready, ready);
	__atomic_store_n(&spool.now, keep, __ATOMIC_SEQ_CST); /* readers see no further */
	if (keep < there)
		munmap(spool.base + keep, there - keep);
	errno = saved;
}

bool spool_shrink(uint64_t room)
{
	if (!spool.base || !wait_unpinned())
		return false;
	cut_at(size_with(room), size_with(room));
	return true;
}

/* The file, or the memory that the launcher holds, has it all; the header's mapping keeps
 * that. */
bool spool_put_away(void)
{
	if (!spool.head || !spool.kept || !wait_unpinned())
		return false;
	cut_at(SPOOL_HEADER, size_with(0));
	return true;
}

/* From now on no more than `cap` bytes are there. */
static void set_cap(uint64_t cap)
{
	struct spool_header *h = spool.head;
	uint64_t used = h ? atomic_load(&h->used) : 0;

	if (cap >= spool.cap)
		return;
	spool.cap = cap;
	if (!h)
		return;
	atomic_store(&h->settled, cap);
	if (cap < atomic_load(&h->limit))
		atomic_store(&h->limit, cap);
	left = cap > used ? cap - used : 0;
	chunk_left(left);
}

void spool_bound(uint64_t room)
{
	if (spool.base)
		set_cap(size_with(room));
}

void spool_settle(void)
{
	if (!spool.base)
		return;
	set_cap(spool.now);
	if (atomic_load(&spool.open) > spool.cap)
		atomic_store(&spool.open, spool.cap);
	atomic_store(&spool.small, false);
}

/* In its own place or not at all, for threads have pointers into it. Where the program
 * has mapped something there meanwhile, a part of it may be free. */
static void grow_back(void)
{
	uint64_t part = round_to_unit((spool.cap - spool.now) / PARTS);
	uint64_t to = spool.cap;

	while (to > spool.now && mremap(spool.base, spool.now, to, 0) != spool.base)
		to = to - spool.now > part ? to - part : spool.now;
	set_cap(to);
}

/* It has to be one mapping for that. What comes anew is closed: no thread is on its way
 * to open it. */
bool spool_regrow(void)
{
	uint64_t opened = size_with(0);
	int saved = errno;

	if (!spool.base)
		return true;
	opened = opened > spool.now ? opened : spool.now;
	munlock(spool.base, spool.now);
	spool_join_pages();
	mprotect(spool.base, spool.now, PROT_READ | PROT_WRITE);
	grow_back();
	spool.now = spool.cap;
	atomic_store(&spool.open, spool.cap);
	if (opened < spool.cap &&
	    !mprotect(spool.base + opened, spool.cap - opened, PROT_NONE))
		atomic_store(&spool.open, opened);
	atomic_store(&spool.small, false);
	errno = saved;
	return !spool.head || atomic_load(&spool.head->used) <= spool.cap;
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
