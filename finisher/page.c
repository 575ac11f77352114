/* SPDX-License-Identifier: Apache-2.0 */
#include "finisher/page.h"
#include "agent/core/clock.h"
#include "base/sys.h"
#include "finisher/life.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define LOCK_NS 20000000 /* between two tries */

static int lock_byte(int fd, unsigned which, int64_t wait_ns)
{
	struct flock byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = which, .l_len = 1
	};
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + wait_ns;

	while (fcntl(fd, F_OFD_SETLK, &byte)) {
		if (errno != EAGAIN && errno != EACCES)
			return 0; /* a file system without locks */
		if (sys_clock_ns(CLOCK_MONOTONIC) >= until)
			return -EAGAIN;
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_NS }, NULL);
	}
	return 0;
}

int page_open(struct page *p, const char *path, unsigned lock, int64_t wait_ns)
{
	struct stat st;
	int err = 0;

	*p = (struct page){ .fd = -1 };
	p->fd = sys_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	if (p->fd < 0)
		return p->fd;
	if (fstat(p->fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		err = -EPERM;
	if (!err)
		err = lock_byte(p->fd, lock, wait_ns);
	if (err) {
		page_close(p);
		return err;
	}
	p->map = mmap(NULL, sizeof(struct job_page), PROT_READ | PROT_WRITE, MAP_SHARED,
		      p->fd, 0);
	if (p->map == MAP_FAILED)
		p->map = NULL;
	return 0;
}

void page_close(struct page *p)
{
	if (p->map)
		munmap(p->map, sizeof(struct job_page));
	if (p->fd >= 0)
		close(p->fd);
	*p = (struct page){ .fd = -1 };
}

/* ---- words ---- */

static uint64_t read_field(const struct page *p, size_t at, size_t size)
{
	uint64_t value = 0;

	return pread(p->fd, &value, size, (off_t)at) == (ssize_t)size ? value : 0;
}

static void write_field(const struct page *p, size_t at, uint32_t value)
{
	if (pwrite(p->fd, &value, sizeof(value), (off_t)at) < 0)
		return; /* a full disk does not matter: the block is there */
}

static _Atomic uint32_t *word_at(const struct page *p, size_t at)
{
	return (_Atomic uint32_t *)((char *)p->map + at);
}

#define AT(field) offsetof(struct job_page, field)
#define SLOT(slot, field)                                   \
	(AT(slot) + (size_t)(n) * sizeof(struct job_slot) + \
	 offsetof(struct job_slot, field))

uint32_t page_handed(const struct page *p)
{
	return (uint32_t)read_field(p, AT(handed), sizeof(uint32_t));
}

void page_wait(const struct page *p, uint32_t seen, int64_t ns)
{
	if (p->map)
		sys_futex_wait_all(word_at(p, AT(handed)), seen, ns);
	else
		nanosleep(&(struct timespec){ .tv_nsec = ns % 1000000000 }, NULL);
}

void page_wake(const struct page *p)
{
	write_field(p, AT(handed), page_handed(p) + 1);
	if (p->map)
		sys_futex_wake_all(word_at(p, AT(handed)));
}

/* ---- slots ---- */

#define BATCH 32 /* slots that are read at once */

/* The first slot for which found() is true; -1: there is none. */
static int each_slot(const struct page *p,
		     bool (*found)(const struct job_slot *s, const void *arg),
		     const void *arg)
{
	struct job_slot some[BATCH];

	for (int n = 0; n < JOB_SLOTS; n += BATCH) {
		if (pread(p->fd, some, sizeof(some),
			  (off_t)(AT(slot) + (size_t)n * sizeof(*some))) !=
		    (ssize_t)sizeof(some))
			return -1;
		for (int i = 0; i < BATCH; i++)
			if (found(&some[i], arg))
				return n + i;
	}
	return -1;
}

struct who {
	uint32_t pid;
	uint64_t start, ino;
};

static bool is_slot_of(const struct job_slot *s, const void *arg)
{
	const struct who *who = arg;

	return s->pid == who->pid && s->start_time == who->start &&
	       (!who->ino || s->spool == (uint32_t)who->ino);
}

int page_slot(const struct page *p, uint32_t pid, uint64_t start, uint64_t ino)
{
	return pid ? each_slot(p, is_slot_of, &(struct who){ pid, start, ino }) : -1;
}

static bool has_window(const struct job_slot *s, const void *arg)
{
	(void)arg;
	for (int i = 0; i < JOB_WINDOWS; i++)
		if (s->window[i].cycle)
			return true;
	return false;
}

bool page_opened(const struct page *p)
{
	return each_slot(p, has_window, NULL) >= 0;
}

bool page_has_torch(const struct page *p)
{
	uint32_t told = 0;

	return pread(p->fd, &told, sizeof(told), AT(told)) == (ssize_t)sizeof(told) &&
	       told & JOB_TOLD_TORCH;
}

bool page_read_slot(const struct page *p, int n, struct job_slot *s)
{
	return n >= 0 && n < JOB_SLOTS &&
	       pread(p->fd, s, sizeof(*s), (off_t)(AT(slot) + (size_t)n * sizeof(*s))) ==
		       (ssize_t)sizeof(*s);
}

void page_end_window(const struct page *p, int n, uint64_t number, uint64_t end,
		     enum job_fate fate)
{
	struct job_window w = { .end = end, .fate = fate };
	size_t at = offsetof(struct job_window, end);

	sys_pwrite_all(p->fd, (char *)&w + at, sizeof(w) - at,
		       SLOT(slot, window) + number % JOB_WINDOWS * sizeof(w) + at);
}

uint64_t page_gate(const struct page *p, int n)
{
	return read_field(p, SLOT(slot, gate), sizeof(uint64_t));
}

void page_written(const struct page *p, int n)
{
	size_t at = SLOT(slot, written);

	write_field(p, at, (uint32_t)read_field(p, at, sizeof(uint32_t)) + 1);
	if (p->map)
		sys_futex_wake_all(word_at(p, at));
}

void page_free(const struct page *p, int n, uint32_t pid, uint64_t ino)
{
	if (read_field(p, SLOT(slot, pid), sizeof(uint32_t)) == pid &&
	    read_field(p, SLOT(slot, spool), sizeof(uint32_t)) == (uint32_t)ino)
		write_field(p, SLOT(slot, pid), 0);
}

/* ---- members ---- */

#define RANGES 64

struct range {
	off_t from, to;
};

bool page_keeps_locks(const struct page *p)
{
	struct statfs fs;

	return fstatfs(p->fd, &fs) || fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

/* Does it run our own executable? Launcher, finisher and recover map the page, too. */
static bool is_command(uint32_t pid)
{
	char path[64];
	struct stat own, its;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return !stat("/proc/self/exe", &own) && !stat(path, &its) &&
	       own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

/* Asks each process that this user may look at whether it maps the page. */
static unsigned members_seen(const struct page *p, uint32_t *pids, unsigned most)
{
	DIR *all = opendir("/proc");
	char name[sizeof(((struct job_page *)0)->id) + sizeof("/" JOB_PAGE)] = "";
	struct life_who who = { .name = name };
	const struct dirent *one;
	unsigned n = 0;

	if (pread(p->fd, name, sizeof(((struct job_page *)0)->id) - 1, AT(id)) <= 0)
		name[0] = '\0';
	strcat(name, "/" JOB_PAGE);
	while (all && n < most && (one = readdir(all))) {
		who.pid = (uint32_t)strtoul(one->d_name, NULL, 10);
		who.start = who.pid ? sys_start_time(who.pid) : 0;
		if (who.start && life_look(&who) == LIFE_HERE && !is_command(who.pid))
			pids[n++] = who.pid;
	}
	if (all)
		closedir(all);
	return n;
}

/* Finds the locks of members. Of several locks the kernel names any: so the ranges before
 * and behind it are asked for next. */
static unsigned members_locked(const struct page *p, uint32_t *pids, unsigned most)
{
	struct range left[RANGES] = { { JOB_LOCK_MEMBER,
					JOB_LOCK_MEMBER + (off_t)UINT32_MAX } };
	unsigned ranges = 1, n = 0;

	while (ranges && n < most) {
		struct range r = left[--ranges];
		struct flock one = { .l_type = F_WRLCK,
				     .l_whence = SEEK_SET,
				     .l_start = r.from,
				     .l_len = r.to - r.from + 1 };

		if (fcntl(p->fd, F_OFD_GETLK, &one) || one.l_type == F_UNLCK)
			continue;
		pids[n++] = (uint32_t)(one.l_start - JOB_LOCK_MEMBER);
		if (one.l_start > r.from && ranges < RANGES)
			left[ranges++] = (struct range){ r.from, one.l_start - 1 };
		if (one.l_start < r.to && ranges < RANGES)
			left[ranges++] = (struct range){ one.l_start + 1, r.to };
	}
	return n;
}

unsigned page_members(const struct page *p, uint32_t *pids, unsigned most)
{
	return page_keeps_locks(p) ? members_locked(p, pids, most)
				   : members_seen(p, pids, most);
}

uint32_t page_own(const struct page *p)
{
	return (uint32_t)read_field(p, AT(own), sizeof(uint32_t));
}

void page_set_own(const struct page *p, uint32_t n)
{
	write_field(p, AT(own), n);
}

/* Processes only ever make a place empty, and nobody else fills one. */
int page_spare_place(const struct page *p)
{
	uint64_t ino[JOB_SPARES];

	if (pread(p->fd, ino, sizeof(ino), (off_t)AT(spare)) != (ssize_t)sizeof(ino))
		return -1;
	for (int i = 0; i < JOB_SPARES; i++)
		if (!ino[i])
			return i;
	return -1;
}

void page_put_spare(const struct page *p, int place, uint64_t ino)
{
	if (pwrite(p->fd, &ino, sizeof(ino),
		   (off_t)(AT(spare) + (size_t)place * sizeof(ino))) < 0)
		return; /* the spare lies there until the end */
}

uint64_t page_memory(const struct page *p)
{
	return read_field(p, AT(memory), sizeof(uint64_t));
}

void page_set_heap(const struct page *p, uint32_t kib)
{
	write_field(p, AT(heap_most), kib);
}

uint32_t page_launcher(const struct page *p)
{
	return (uint32_t)read_field(p, AT(launched), sizeof(uint32_t));
}

void page_leave(const struct page *p)
{
	write_field(p, AT(launcher), 0);
}
