/* SPDX-License-Identifier: Apache-2.0 */
/* The spool's file: placed in a folder, in memory that the launcher holds, or private;
 * its header. */
#include "agent/core/chunk.h"
#include "agent/core/clock.h"
#include "agent/core/codes.h"
#include "agent/core/hold.h"
#include "agent/core/job.h"
#include "agent/core/names.h"
#include "agent/core/self.h"
#include "agent/core/spare.h"
#include "agent/core/stacks.h"
#include "base/fmt.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FACT_TRIES 1000
#define FIRST      (1u << 20) /* bytes reserved at the start, on old kernels */
#define ALWAYS     offsetof(struct spool_header, config) /* written in any process */

static _Atomic uint32_t facts_busy;
static uint64_t cycles_before; /* opened by our parents: no child uses a number again */

/* ---- making it ---- */

/* The owner holds this lock as long as it lives: the mapping keeps it. */
static void hold_lock(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	fcntl(fd, F_OFD_SETLK, &whole);
}

/* The file has a name that nobody looks for until it is locked: a spool without a lock
 * is a dead process's. */
static int make_file(const char *dir)
{
	if (fmt(spool_path, sizeof(spool_path), "%s/%u.%lu.%lx.new", dir, self.pid,
		(unsigned long)self.start_time,
		(unsigned long)clock_ticks()) >= sizeof(spool_path))
		return -ENAMETOOLONG;
	return sys_open_high(spool_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

static int show_file(const char *dir)
{
	char path[sizeof(spool_path)];
	size_t size =
		1 + fmt(path, sizeof(path), "%s/%u.%lu.%lx.spool", dir, self.pid,
			(unsigned long)self.start_time, (unsigned long)clock_ticks());

	if (size > sizeof(path))
		return -ENAMETOOLONG;
	if (rename(spool_path, path))
		return -errno;
	memcpy(spool_path, path, size);
	return 0;
}

/* Maps the file and says what of it may be populated. */
static int map_file(int fd, uint64_t cap, bool disk)
{
	struct sys_stat st;
	void *base;
	int err;

	hold_lock(fd);
	err = ftruncate(fd, (off_t)cap) ? -errno : sys_fstat(fd, &st);
	if (err)
		return err;
	base = mmap(NULL, cap, PROT_NONE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	/* Without this the kernel reads ahead, even holes, into pages that nobody
	 * needs. */
	madvise(base, cap, MADV_RANDOM);
	spool.reserved = cap;
	if (disk && !sys_populates(base)) {
		spool.reserved = FIRST;
		err = sys_fallocate(fd, 0, FIRST);
	}
	if (err && err != -EOPNOTSUPP && err != -ENOSYS) {
		munmap(base, cap);
		return err;
	}
	spool.base = base;
	spool.cap = spool.now = cap;
	atomic_store(&spool.open, 0);
	if (!spool_open_to(SPOOL_HEADER)) { /* a sandbox refuses mprotect */
		munmap(base, cap);
		spool.base = NULL;
		return -EPERM;
	}
	spool.ino = st.ino;
	spool.large = disk && major(st.dev); /* memory has no device */
	spool.kept = true;
	return 0;
}

/* The agent has looked at itself before; a unit test may not have. */
static void look_at_self(void)
{
	if (self.pid != sys_pid())
		self_look(NULL);
	self_settle(0);
}

static uint64_t round_cap(uint64_t cap)
{
	uint64_t least = SPOOL_HEADER + 4 * CHUNK_LARGE;

	cap = (cap + 65535) & ~65535ull;
	return cap < least ? least : cap;
}

static int place_private(uint64_t cap)
{
	spool_path[0] = '\0';
	spool.base = sys_map(cap);
	spool.cap = spool.now = spool.reserved = cap;
	atomic_store(&spool.open, cap);
	spool.kept = false;
	return spool.base ? 0 : -ENOMEM;
}

static int place_file(const char *dir, uint64_t cap, bool spare)
{
	int fd = spare ? spare_take(spool_path, sizeof(spool_path)) : make_file(dir);
	int err = fd < 0 ? fd : map_file(fd, cap, true);

	if (fd >= 0)
		sys_close(fd);
	if (!err)
		err = show_file(dir);
	if (err && fd >= 0)
		spool_unplace();
	return err;
}

int spool_place(const char *dir, uint64_t cap)
{
	int saved = errno, err = -ENOENT;

	if (spool.base)
		return 0;
	cap = round_cap(cap);
	if (!dir)
		return place_private(cap);
	if (!sys_may_grow(cap))
		return -EFBIG;
	look_at_self();
	if (!strcmp(dir, job_folder()))
		err = place_file(dir, cap, true);
	/* A finisher that ends removes a spare under us. */
	if (err == -ENOENT)
		err = place_file(dir, cap, false);
	errno = saved;
	return err;
}

int spool_place_held(const char *id, uint64_t cap)
{
	int saved = errno, err, fd;

	if (spool.base)
		return 0;
	cap = round_cap(cap);
	if (!sys_may_grow(cap))
		return -EFBIG;
	fd = sys_above_standard(
		(int)syscall(SYS_memfd_create, "proflaunch", MFD_CLOEXEC));
	err = fd < 0 ? -EMFILE : map_file(fd, cap, false);
	if (!err && (err = hold_send(id, fd)))
		spool_unplace();
	if (fd >= 0)
		sys_close(fd);
	errno = saved;
	return err;
}

/* ---- its header ---- */

static void read_boot_id(char *buf, size_t size)
{
	ssize_t n = sys_read_file("/proc/sys/kernel/random/boot_id", buf, size);

	buf[n > 0 ? strcspn(buf, "\n") : 0] = '\0';
}

static void fill_header(struct spool_header *h)
{
	look_at_self();
	h->version = SPOOL_VERSION;
	h->header_size = SPOOL_HEADER;
	fmt(h->build, sizeof(h->build), "%s", VERSION);
	fmt(h->host, sizeof(h->host), "%s", self.host);
	if (job)
		fmt(h->boot_id, sizeof(h->boot_id), "%s", job->boot_id);
	else
		read_boot_id(h->boot_id, sizeof(h->boot_id));
	fmt(h->exe, sizeof(h->exe), "%s", self.exe);
	h->pid = self.pid;
	h->ppid = self.ppid;
	h->start_time = self.start_time;
	h->pid_ns = self.pid_ns;
	h->clock_kind = clock_kind;
	atomic_store(&h->used, SPOOL_HEADER);
	atomic_store(&h->ready, SPOOL_HEADER);
	atomic_store(&h->cycles, cycles_before);
}

int spool_begin(void)
{
	struct spool_header *h = (struct spool_header *)spool.base;
	int saved = errno;

	if (!spool_head_has(h, ALWAYS))
		return -ENOSPC;
	fill_header(h);
	h->cap = spool.cap;
	atomic_store(&h->limit, spool.cap);
	atomic_store(&h->reserved, spool.reserved);
	h->kept = spool.kept;
	spool.head = h;
	clock_begin(h);
	errno = saved;
	return 0;
}

/* The magic's first letter goes in last: until then no reader sees a spool here. */
void spool_show(void)
{
	char *magic = spool.head->magic;

	memcpy(magic + 1, SPOOL_MAGIC + 1, 7);
	__atomic_store_n(magic, SPOOL_MAGIC[0], __ATOMIC_RELEASE);
}

/* ---- the end of it ---- */

void spool_unplace(void)
{
	int saved = errno;

	if (spool.base)
		munmap(spool.base, spool.cap);
	if (spool_path[0])
		unlink(spool_path);
	spool.base = NULL;
	spool.head = NULL;
	spool_path[0] = '\0';
	errno = saved;
}

/*
 * Zeros take the place of what was handed out: the rest of a record that this thread was
 * writing goes to nobody there, the thread reads no record there, and finds no room for
 * another.  Nobody has a pointer into what was never handed out.  A shared mapping is not
 * charged to RLIMIT_DATA.  Where the kernel refuses it all the same, the parent's pages
 * stay: the rest of a record there is less harm than a fault here.
 */
void spool_leave(void)
{
	struct spool_header *h = spool.head;
	int saved = errno;
	uint64_t used;

	if (!spool.base)
		return;
	used = h ? (atomic_load(&h->used) + 4095) & ~4095ull : 0;
	used = used < SPOOL_HEADER ? SPOOL_HEADER : used;
	used = used < spool.now ? used : spool.now;
	if (mmap(spool.base, used, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		 0) != MAP_FAILED &&
	    used < spool.now)
		munmap(spool.base + used, spool.now - used);
	spool.reserved = used;
	errno = saved;
}

void spool_forget(void)
{
	struct spool_header *h = spool.head;
	int saved = errno;

	if (h)
		cycles_before = atomic_load(&h->cycles);
	if (spool.base)
		munmap(spool.base, spool.now);
	spool = (struct spool){ 0 };
	if (spool_path[0]) /* most children never had one, nor the page it lies on */
		spool_path[0] = '\0';
	atomic_store(&facts_busy, 0);
	spool_forget_reserve();
	chunk_forget();
	names_forget();
	stacks_forget();
	codes_forget();
	errno = saved;
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
	at = spool.head && spool_head_has(spool.head->facts, 1)
		     ? strlen(spool.head->facts)
		     : SPOOL_FACTS;
	if (at + strlen(key) + strlen(json) + 5 < SPOOL_FACTS &&
	    spool_head_has(spool.head->facts + at, strlen(key) + strlen(json) + 5)) {
		line = spool.head->facts + at;
		fmt(line + 1, SPOOL_FACTS - at - 1, "%s = %s\n", key + 1, json);
		__atomic_store_n(line, *key, __ATOMIC_RELEASE);
	}
	atomic_store_explicit(&facts_busy, 0, memory_order_release);
}
