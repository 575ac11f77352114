/* SPDX-License-Identifier: Apache-2.0 */
/* Reserving and touching: the writer thread does, so that the program never waits. */
#include "agent/core/spool.h"
#include "agent/core/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEP          (4ull * 1024 * 1024) /* bytes reserved at once */
#define RESERVE_LEAST (4ull * 1024 * 1024) /* a thousand threads may begin ... */
#define RESERVE_MOST  (32ull * 1024 * 1024) /* ... and go on at once */
#define PIECE         (256ull * 1024) /* touched at once */
#define CLOSE_TRIES   200 /* of 50 us, for what a keeper is in the middle of */

static _Atomic uint32_t preparing, closing;
static uint64_t reserve_least = RESERVE_MOST;
static _Atomic uint64_t low; /* once so much is handed out, more must be made ready */

int spool_reserve(uint64_t from, uint64_t to)
{
	static const char zeros[65536];
	int err;

	if (spool.fd < 0)
		return 0;
	err = syscall(SYS_fallocate, spool.fd, 0, from, to - from) ? -errno : 0;
	if (err != -EOPNOTSUPP && err != -ENOSYS)
		return err;
	for (err = 0; from < to && !err; from += sizeof(zeros))
		err = sys_pwrite_all(spool.fd, zeros, sizeof(zeros), from);
	return err;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void spool_share(unsigned divisor)
{
	uint64_t least_of_all = SPOOL_HEADER + 4 * CHUNK_LARGE;
	uint64_t limit = (spool.head->cap / divisor) & ~65535ull;

	atomic_store(&spool.head->limit, limit < least_of_all ? least_of_all : limit);
}

/* Past what is handed out by now. 0 or -errno. */
static int reserve_ahead(struct spool_header *h, uint64_t ahead)
{
	uint64_t used = atomic_load(&h->used), limit = atomic_load(&h->limit);
	uint64_t want = least(4 * used, RESERVE_MOST), from;
	int err = 0;

	want = want > reserve_least ? want : reserve_least;
	want = want > 2 * ahead ? want : 2 * ahead;
	want = least((used + want + 65535) & ~65535ull, limit);
	for (from = atomic_load(&h->reserved); from < want && !err && !closing;) {
		uint64_t to = least(from + STEP, limit);

		err = spool_reserve(from, to);
		if (!err)
			atomic_store(&h->reserved, from = to);
	}
	return err;
}

/* What was reserved cannot be written after all: nobody gets a chunk there. */
static void end_at(struct spool_header *h, uint64_t at)
{
	uint64_t used = atomic_load(&h->used);

	at = used > at ? used : at;
	if (at < atomic_load(&h->limit))
		atomic_store(&h->limit, at);
}

/* In pieces: a host thread that overtakes us finds the next one touched; and touching
 * takes its time, in which more may have to be reserved. */
static int prepare(struct spool_header *h, uint64_t ahead)
{
	uint64_t used = atomic_load(&h->used), from = atomic_load(&h->ready), want;
	int err = reserve_ahead(h, ahead);

	want = least(atomic_load(&h->reserved), atomic_load(&h->limit));
	want = least((used + ahead + 65535) & ~65535ull, want);
	while (from < want && !closing) {
		uint64_t to = least(from + PIECE, want);

		if (sys_touch(spool.base + from, to - from)) {
			end_at(h, from);
			err = -ENOSPC;
			break;
		}
		atomic_store(&h->ready, from = to);
		err = err ? err : reserve_ahead(h, ahead);
	}
	atomic_store(&low, err || from >= atomic_load(&h->limit) ? UINT64_MAX
								 : from - ahead / 2);
	return err;
}

int spool_prepare(uint64_t ahead)
{
	int saved = errno, err = 0;

	if (!spool.head || atomic_exchange(&preparing, 1))
		return 0; /* another does it, or nobody ever again */
	err = prepare(spool.head, ahead);
	atomic_store(&preparing, 0);
	errno = saved;
	return err;
}

bool spool_low(void)
{
	uint64_t mark = atomic_load_explicit(&low, memory_order_relaxed);

	return atomic_load_explicit(&spool.head->used, memory_order_relaxed) >= mark &&
	       atomic_compare_exchange_strong(&low, &mark, UINT64_MAX);
}

/* From now on nobody prepares. False where somebody is in the middle of it. */
static bool stop_preparing(void)
{
	atomic_store(&closing, 1);
	for (unsigned i = 0; atomic_exchange(&preparing, 1); i++) {
		if (i == CLOSE_TRIES)
			return false;
		sys_futex_wait(&preparing, 1, 50000);
	}
	return true;
}

/* Of what other threads may still write until they are ended. */
static uint64_t leave_some(uint64_t at, uint64_t end)
{
	for (int i = 0; i < 2 && end - at > CHUNK_LARGE; i++, at += CHUNK_LARGE) {
		struct chunk *c = chunk_at(at);

		c->size = CHUNK_LARGE;
		c->magic = CHUNK_MAGIC;
		chunk_give(at);
	}
	return at;
}

/* The rest is taken as any other chunk: nobody else can have it then. */
void spool_close(void)
{
	struct spool_header *h = spool.head;
	uint64_t at, end;
	int saved = errno;
	struct chunk *c;

	if (!h || spool.fd < 0 || !stop_preparing())
		return;
	end = atomic_load(&h->reserved);
	at = atomic_load(&h->used);
	do
		if (at + CHUNK_SMALL >= end)
			return;
	while (!atomic_compare_exchange_weak(&h->used, &at, end));
	atomic_store(&h->limit, end);
	at = leave_some(at, end);
	if (at + CHUNK_SMALL >= end)
		return;
	c = chunk_at(at);
	c->size = (uint32_t)(end - at);
	c->kind = CHUNK_REST;
	c->magic = CHUNK_MAGIC;
	at += CHUNK_SMALL;
	syscall(SYS_fallocate, spool.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
		end - at);
	errno = saved;
}

void spool_forget_reserve(void)
{
	atomic_store(&preparing, 0);
	atomic_store(&closing, 0);
	reserve_least = RESERVE_LEAST; /* of children there may be many */
}
