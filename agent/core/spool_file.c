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

#define FACT_TRIES 1000

static _Atomic uint32_t facts_busy;

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
	err = spool_reserve(0, SPOOL_HEADER);
	base = err ? MAP_FAILED
		   : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base != MAP_FAILED && sys_touch(base, SPOOL_HEADER)) {
		munmap(base, cap);
		base = MAP_FAILED;
		err = -ENOSPC;
	}
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
	if (ftruncate(spool.fd, (off_t)cap) || (err = spool_reserve(0, SPOOL_HEADER)))
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
	/* The mapping stays: somebody interrupted in the middle of a record may still
	 * finish it. The descriptor goes, and with it our share of the parent's lock. */
	if (spool.fd >= 0)
		sys_close(spool.fd);
	spool.head = NULL;
	spool.base = NULL;
	spool.fd = -1;
	spool.path[0] = '\0';
	spool_forget_reserve();
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
