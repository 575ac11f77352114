/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/fmt.h"
#include "agent/core/hold.h"
#include "agent/core/names.h"
#include "agent/core/spool.h"
#include "agent/core/stacks.h"
#include "agent/core/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct spool spool = { .fd = -1 };

#define FACT_TRIES    1000
#define STEP          (4ull * 1024 * 1024) /* bytes reserved at once */
#define RESERVE_LEAST (4ull * 1024 * 1024) /* a thousand threads may begin ... */
#define RESERVE_MOST  (32ull * 1024 * 1024) /* ... and go on at once */
#define PIECE         (256ull * 1024) /* touched at once */
#define CLOSE_TRIES   200 /* of 50 us, for what a keeper is in the middle of */

static _Atomic uint32_t facts_busy, preparing, closing;
static uint64_t reserve_least = RESERVE_MOST;
static _Atomic uint64_t low; /* once so much is handed out, more must be made ready */

/* ---- reserving and touching: the writer thread, so that the program never waits ---- */

/* Space that cannot be refused later. 0 or -errno. */
static int reserve(uint64_t from, uint64_t to)
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

		err = reserve(from, to);
		if (!err)
			atomic_store(&h->reserved, from = to);
	}
	return err;
}

/* In pieces: a host thread that overtakes us finds the next one touched; and touching
 * takes its time, in which more may have to be reserved. */
static int prepare(struct spool_header *h, uint64_t ahead)
{
	uint64_t used = atomic_load(&h->used), from = atomic_load(&h->ready), want;
	int err = reserve_ahead(h, ahead);

	want = least((used + ahead + 65535) & ~65535ull, atomic_load(&h->reserved));
	while (from < want && !closing) {
		uint64_t to = least(from + PIECE, want);

		sys_touch(spool.base + from, to - from);
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

/* ---- making it ---- */

static void identify(struct spool_header *h)
{
	char link[64];
	struct sys_stat st;
	ssize_t n;

	memcpy(h->magic, SPOOL_MAGIC, 8);
	h->version = SPOOL_VERSION;
	h->header_size = SPOOL_HEADER;
	fmt(h->build, sizeof(h->build), "%s", VERSION);
	sys_host(h->host, sizeof(h->host));
	n = sys_read_file("/proc/sys/kernel/random/boot_id", h->boot_id,
			  sizeof(h->boot_id));
	h->boot_id[n > 0 ? strcspn(h->boot_id, "\n") : 0] = '\0';
	h->pid = sys_pid();
	h->ppid = sys_parent(h->pid);
	h->start_time = sys_start_time(h->pid);
	fmt(link, sizeof(link), "/proc/%u/ns/pid", h->pid);
	h->pid_ns = sys_stat(link, &st) ? 0 : st.ino;
	h->clock_kind = clock_kind;
	atomic_store(&h->used, SPOOL_HEADER);
	atomic_store(&h->ready, SPOOL_HEADER);
	atomic_store(&h->reserved, SPOOL_HEADER);
}

/* The owner holds this lock as long as it lives: `recover` must not touch it. */
static void hold(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	fcntl(fd, F_OFD_SETLK, &whole);
}

static int open_file(const char *dir, uint64_t cap)
{
	char host[72];
	uint32_t pid = sys_pid();
	int fd, err;

	sys_host(host, sizeof(host));
	if (fmt(spool.path, sizeof(spool.path), "%s/%s_%u.%lu.spool", dir, host, pid,
		(unsigned long)sys_start_time(pid)) >= sizeof(spool.path))
		return -ENAMETOOLONG;
	err = sys_mkdirs(dir, 0777);
	if (err)
		return err;
	fd = sys_open(spool.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd == -EEXIST) {
		/* Our own of an earlier image: exec keeps pid and start time. */
		fmt(spool.path, sizeof(spool.path), "%s/%s_%u.%lu.%lx.spool", dir, host,
		    pid, (unsigned long)sys_start_time(pid),
		    (unsigned long)clock_ticks());
		fd = sys_open(spool.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	}
	if (fd < 0)
		return fd;
	hold(fd);
	err = sys_may_grow(cap) ? (ftruncate(fd, (off_t)cap) ? -errno : 0) : -EFBIG;
	if (err) {
		unlink(spool.path);
		sys_close(fd);
		return err;
	}
	return fd;
}

static int map_file(const char *dir, uint64_t cap)
{
	void *base;
	int fd, err = 0;

	fd = open_file(dir, cap);
	if (fd < 0)
		return fd;
	spool.fd = fd;
	err = reserve(0, SPOOL_HEADER);
	base = err ? MAP_FAILED
		   : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		err = err ? err : -errno;
		unlink(spool.path);
		sys_close(fd);
		spool.fd = -1;
		return err;
	}
	spool.base = base;
	return 0;
}

static uint64_t whole(uint64_t cap)
{
	uint64_t least = SPOOL_HEADER + 4 * CHUNK_LARGE;

	cap = (cap + 65535) & ~65535ull;
	return cap < least ? least : cap;
}

static void begin(uint64_t cap, bool kept)
{
	struct spool_header *h = (struct spool_header *)spool.base;

	identify(h);
	h->cap = cap;
	atomic_store(&h->limit, cap);
	h->kept = kept;
	spool.head = h;
	clock_begin(h);
}

int spool_open(const char *dir, uint64_t cap)
{
	int saved = errno, err = -ENOENT;

	if (spool.head)
		return 0;
	cap = whole(cap);
	if (dir)
		err = map_file(dir, cap);
	if (err) {
		spool.path[0] = '\0';
		spool.base = sys_map(cap);
		if (!spool.base) {
			errno = saved;
			return -ENOMEM;
		}
	}
	begin(cap, !err);
	errno = saved;
	return dir ? err : 0;
}

/* The header is there before anybody else can look into it. */
int spool_open_held(const char *id, uint64_t cap)
{
	int saved = errno, err = 0;
	void *base;

	if (spool.head)
		return 0;
	cap = whole(cap);
	if (!sys_may_grow(cap))
		return -EFBIG;
	spool.fd = (int)syscall(SYS_memfd_create, "proflaunch", MFD_CLOEXEC);
	if (spool.fd < 0)
		goto errno_is_why;
	hold(spool.fd);
	if (ftruncate(spool.fd, (off_t)cap) || (err = reserve(0, SPOOL_HEADER)))
		goto errno_is_why;
	base = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_SHARED, spool.fd, 0);
	if (base == MAP_FAILED)
		goto errno_is_why;
	spool.path[0] = '\0';
	spool.base = base;
	begin(cap, true);
	err = hold_send(id, spool.fd);
	if (err)
		spool_forget();
	errno = saved;
	return err;
errno_is_why:
	err = err ? err : -errno;
	if (spool.fd >= 0)
		sys_close(spool.fd);
	spool.fd = -1;
	errno = saved;
	return err;
}

void spool_forget(void)
{
	atomic_store(&facts_busy, 0);
	atomic_store(&preparing, 0);
	atomic_store(&closing, 0);
	reserve_least = RESERVE_LEAST; /* of children there may be many */
	/* The mapping stays: somebody interrupted in the middle of a record may still
	 * finish it. The descriptor goes, and with it our share of the parent's lock. */
	if (spool.fd >= 0)
		sys_close(spool.fd);
	spool.head = NULL;
	spool.base = NULL;
	spool.fd = -1;
	spool.path[0] = '\0';
	spool_forget_chunks();
	names_forget();
	stacks_forget();
}

/* The first letter goes in last: until then the text ends before the new line, and a
 * writer that reads along never sees half of one. */
void spool_fact(const char *key, const char *json)
{
	size_t at;
	char *line;

	for (unsigned i = 0;
	     atomic_exchange_explicit(&facts_busy, 1, memory_order_acquire);)
		if (i++ == FACT_TRIES)
			return; /* we are in a signal handler within ourselves */
		else
			sched_yield();
	at = spool.head ? strlen(spool.head->facts) : SPOOL_FACTS;
	if (at + strlen(key) + strlen(json) + 5 < SPOOL_FACTS) {
		line = spool.head->facts + at;
		fmt(line + 1, SPOOL_FACTS - at - 1, "%s = %s\n", key + 1, json);
		__atomic_store_n(line, *key, __ATOMIC_RELEASE);
	}
	atomic_store_explicit(&facts_busy, 0, memory_order_release);
}
