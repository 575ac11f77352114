/* SPDX-License-Identifier: Apache-2.0 */
/* What may be written of a spool: pages that were populated, ahead of need by our thread,
 * so that the program rarely has to. */
#include "agent/core/chunk.h"
#include "base/seldom.h"
#include "base/sys.h"
#include "base/sys_call.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define PAGE  4096ull
#define STEP  (32ull * 1024 * 1024) /* bytes reserved at once, on old kernels */
#define PIECE (256ull * 1024) /* populated at once */
#define LARGE (2ull * 1024 * 1024) /* a large page; below it they come one by one */

struct spool spool;
SELDOM char spool_path[4096];
static _Atomic uint32_t preparing, halted, advised;
static _Atomic uint64_t low; /* once so much is handed out, more must be made ready */

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void spool_share(unsigned divisor)
{
	uint64_t least_of_all = SPOOL_HEADER + 4 * CHUNK_LARGE;
	uint64_t limit = (spool.head->cap / divisor) & ~65535ull;

	atomic_store(&spool.head->limit, limit < least_of_all ? least_of_all : limit);
}

/* Ends the spool at `at`: no page can be had there, so no chunk is handed out from there
 * on. */
static void end_at(struct spool_header *h, uint64_t at)
{
	uint64_t limit = atomic_load(&h->limit);

	while (at < limit && !atomic_compare_exchange_weak(&h->limit, &limit, at))
		;
}

/* Where large pages come they need all of one. */
bool spool_open_to(uint64_t end)
{
	uint64_t open = atomic_load(&spool.open), unit = end > LARGE ? LARGE : PIECE;
	uint64_t to = smaller_of((end + unit - 1) / unit * unit, spool.now);

	if (end <= open)
		return true;
	if (to < end ||
	    SYS_CALL(SYS_mprotect, spool.base + open, to - open, PROT_READ | PROT_WRITE))
		return false;
	while (open < to && !atomic_compare_exchange_weak(&spool.open, &open, to))
		;
	return true;
}

/*
 * A process that records much gets large folios, where the file system has them: 0.8 us
 * for 4 KiB instead of 5 (Linux 6.18, ext4). Most processes never come there, and are
 * spared the call.
 */
static int touch_pages(uint64_t at, uint64_t size)
{
	if (at + size > LARGE && spool.large && spool.now > LARGE &&
	    !atomic_exchange(&advised, 1))
		sys_large(spool.base + LARGE, spool.now - LARGE);
	return spool_open_to(at + size) ? sys_touch(spool.base + at, size) : -ENOMEM;
}

void spool_join_pages(void)
{
	if (atomic_exchange(&advised, 0))
		madvise(spool.base, spool.now, MADV_NOHUGEPAGE);
}

bool spool_pin(void)
{
	atomic_fetch_add(&spool.pins, 1);
	if (!atomic_load(&spool.small))
		return true;
	spool_unpin();
	return false;
}

void spool_unpin(void)
{
	atomic_fetch_sub(&spool.pins, 1);
}

bool spool_populate(uint64_t at, uint64_t size)
{
	if (!touch_pages(at, size))
		return true;
	end_at(spool.head, at);
	return false;
}

/* Populates in pieces, after each of which `ready` moves: a thread of the program that
 * comes close behind has little to populate itself. */
static int populate_ahead(struct spool_header *h, uint64_t ahead)
{
	uint64_t used = atomic_load(&h->used), from = atomic_load(&h->ready), want;
	int err = 0;

	if (from < (used & ~65535ull))
		from = used & ~65535ull;
	want = smaller_of(atomic_load(&h->reserved), atomic_load(&h->limit));
	want = smaller_of((used + ahead + 65535) & ~65535ull, want);
	while (from < want && !err && !atomic_load(&halted) && spool_pin()) {
		uint64_t to = smaller_of(from + PIECE, want);

		if (!touch_pages(from, to - from)) {
			atomic_store(&h->ready, from = to);
		} else {
			used = atomic_load(&h->used);
			end_at(h, used > from ? used : from);
			err = -ENOSPC;
		}
		spool_unpin();
	}
	atomic_store(&low, err || from >= atomic_load(&h->limit) ? UINT64_MAX
								 : from - ahead / 2);
	return err;
}

int spool_prepare(uint64_t ahead)
{
	int saved = errno, err = 0;

	if (!spool.head || atomic_exchange(&preparing, 1))
		return 0; /* another thread does it */
	err = populate_ahead(spool.head, ahead);
	atomic_store(&preparing, 0);
	errno = saved;
	return err;
}

void spool_halt(bool on)
{
	atomic_store(&halted, on);
}

bool spool_low(void)
{
	uint64_t mark = atomic_load_explicit(&low, memory_order_relaxed);

	/* Of the threads that see the mark, the one that moves it tells the writer. */
	return atomic_load_explicit(&spool.head->used, memory_order_relaxed) >= mark &&
	       atomic_compare_exchange_strong(&low, &mark, UINT64_MAX);
}

/* ---- its header ---- */

_Static_assert(SPOOL_HEADER / PAGE < 32, "a bit for each page");

bool spool_head_has(const void *at, size_t size)
{
	uint64_t from = (uint64_t)((const uint8_t *)at - spool.base) / PAGE, to;
	uint32_t pages;

	if (!spool.base || (uint64_t)((const uint8_t *)at - spool.base) >= SPOOL_HEADER)
		return true; /* not in our spool's header: plain memory */
	to = ((uint64_t)((const uint8_t *)at - spool.base) + size - 1) / PAGE;
	pages = (2u << to) - (1u << from);
	if ((atomic_load(&spool.pages) & pages) == pages)
		return true;
	if (sys_touch(spool.base + from * PAGE, (to - from + 1) * PAGE))
		return false;
	atomic_fetch_or(&spool.pages, pages);
	return true;
}

/* ---- before Linux 5.14 ---- */

bool spool_must_reserve(uint64_t ahead)
{
	struct spool_header *h = spool.head;
	uint64_t reserved = atomic_load(&h->reserved);

	return reserved < atomic_load(&h->limit) &&
	       reserved < atomic_load(&h->used) + ahead;
}

/* The file gets blocks that nobody can refuse later. Where its file system cannot
 * allocate them, zeros are written. */
static int allocate_space(int fd, uint64_t from, uint64_t to)
{
	static const char zeros[65536];
	int err = sys_fallocate(fd, from, to - from);

	if (err != -EOPNOTSUPP && err != -ENOSYS)
		return err;
	for (err = 0; from < to && !err; from += sizeof(zeros))
		err = sys_pwrite_all(fd, zeros, sizeof(zeros), from);
	return err;
}

int spool_reserve(uint64_t ahead)
{
	struct spool_header *h = spool.head;
	uint64_t from = atomic_load(&h->reserved), to;
	int saved = errno, err, fd;
	struct sys_stat st;

	to = smaller_of((atomic_load(&h->used) + ahead + STEP + 65535) & ~65535ull,
			atomic_load(&h->limit));
	fd = sys_open(spool_path, O_RDWR | O_NOFOLLOW, 0);
	err = fd < 0 ? fd : sys_fstat(fd, &st);
	/* Another file may have that name by now. */
	if (!err && st.ino != spool.ino)
		err = -ESTALE;
	if (!err && to > from)
		err = allocate_space(fd, from, to);
	if (!err && to > from)
		atomic_store(&h->reserved, to);
	if (fd >= 0)
		sys_close(fd);
	errno = saved;
	return err;
}

void spool_forget_reserve(void)
{
	atomic_store(&advised, 0);
	atomic_store(&preparing, 0);
	atomic_store(&halted, 0);
	atomic_store(&low, 0);
}
