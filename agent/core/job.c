/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/job.h"
#include "agent/core/clock.h"
#include "agent/core/fmt.h"
#include "agent/core/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WEEK_NS   (7 * 86400 * 1000000000ll)
#define ANCESTORS 64 /* how far up the process tree we look */

struct job_page *job;
static char made[4096]; /* path of the page, if this process made it */
static uint32_t maker;
struct job_slot *job_mine;

int64_t job_base_ns(int64_t now_ns)
{
	return now_ns - now_ns % WEEK_NS;
}

static size_t job_path(char *buf, size_t size, const char *dir, uint32_t pid)
{
	char host[72];

	sys_host(host, sizeof(host));
	return fmt(buf, size, "%s/%s_%u.%lu.job", dir, host, pid,
		   (unsigned long)sys_start_time(pid));
}

static struct job_page *map_page(int fd)
{
	int saved = errno;
	void *p = mmap(NULL, sizeof(struct job_page), PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

int job_make(const char *dir, uint32_t launcher_pid)
{
	static char zeros[64 * 1024]; /* not in the file, as a constant would be */
	char path[4096], host[72];
	uint32_t pid = sys_pid();
	int err, fd;

	if (job_path(path, sizeof(path), dir, pid) >= sizeof(path))
		return -ENAMETOOLONG;
	err = sys_may_grow(sizeof(struct job_page)) ? sys_mkdirs(dir, 0777) : -EFBIG;
	if (err)
		return err;
	unlink(path); /* of our own pid and start time: an earlier image's */
	fd = sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	/* Written, not truncated to size: a full disk must show now, not as SIGBUS. */
	for (size_t at = 0; at < sizeof(struct job_page) && !err; at += sizeof(zeros))
		err = sys_write_all(fd, zeros, sizeof(zeros));
	job = err ? NULL : map_page(fd);
	sys_close(fd);
	if (!job) {
		unlink(path);
		return err ? err : -ENOMEM;
	}
	sys_host(host, sizeof(host));
	job->version = 1;
	job->base_ns = job_base_ns(clock_get_ns(CLOCK_REALTIME));
	fmt(job->id, sizeof(job->id), "%s_%u.%lu", host, pid,
	    (unsigned long)sys_start_time(pid));
	atomic_store(&job->launcher, launcher_pid);
	memcpy(job->magic, JOB_MAGIC, 8);
	fmt(made, sizeof(made), "%s", path);
	maker = pid;
	return 0;
}

/* Only a file that we ourselves own, of the right size, is believed. */
static int join_file(const char *path)
{
	struct sys_stat st;
	int err, fd = sys_open(path, O_RDWR | O_NOFOLLOW, 0);

	if (fd < 0)
		return fd;
	err = sys_fstat(fd, &st);
	if (!err && (!S_ISREG(st.mode) || st.uid != geteuid() ||
		     st.size < sizeof(struct job_page)))
		err = -EPERM;
	job = err ? NULL : map_page(fd);
	sys_close(fd);
	if (job && memcmp(job->magic, JOB_MAGIC, 8)) {
		munmap(job, sizeof(*job));
		job = NULL;
		err = -EINVAL;
	}
	return job ? 0 : err ? err : -ENOMEM;
}

int job_join(const char *path, const char *dir)
{
	uint32_t pid = sys_pid();
	char guess[4096];

	if (path && *path)
		return join_file(path);
	for (unsigned i = 0; dir && pid > 1 && i < ANCESTORS; i++, pid = sys_parent(pid))
		if (job_path(guess, sizeof(guess), dir, pid) < sizeof(guess) &&
		    !join_file(guess))
			return 0;
	return -ENOENT;
}

static bool slot_dead(const struct job_slot *s, uint32_t pid)
{
	uint64_t start = sys_start_time(pid);

	return !start || (s->start_time && start != s->start_time);
}

/* A free slot first; then that of a process which has gone. */
static struct job_slot *slot_claim(uint32_t pid, bool dead_too)
{
	for (unsigned i = 0; i < JOB_SLOTS; i++) {
		struct job_slot *s = &job->slot[i];
		uint32_t owner = atomic_load(&s->pid);

		if (owner && !(dead_too && slot_dead(s, owner)))
			continue;
		if (atomic_compare_exchange_strong(&s->pid, &owner, pid))
			return s;
	}
	return NULL;
}

int job_enlist(void)
{
	uint32_t pid = sys_pid();
	struct job_slot *s;

	if (!job)
		return -ENOENT;
	s = slot_claim(pid, false);
	if (!s)
		s = slot_claim(pid, true);
	if (!s)
		return -ENOSPC;
	s->start_time = sys_start_time(pid);
	atomic_store(&s->torch, 0);
	atomic_store(&s->gate, 0);
	atomic_store(&s->boundaries, 0);
	memset(s->window, 0, sizeof(s->window));
	job_mine = s;
	return 0;
}

static struct job_slot *slot_of(uint32_t pid)
{
	for (unsigned i = 0; i < JOB_SLOTS; i++) {
		struct job_slot *s = &job->slot[i];

		if (atomic_load(&s->pid) == pid && s->start_time == sys_start_time(pid))
			return s;
	}
	return NULL;
}

struct job_slot *job_ancestor(void)
{
	uint32_t pid = sys_parent(sys_pid());
	struct job_slot *found = NULL;

	for (unsigned i = 0; job && pid > 1 && i < ANCESTORS; i++) {
		struct job_slot *s = slot_of(pid);
		uint32_t torch = s && s != job_mine ? atomic_load(&s->torch) : TORCH_NONE;

		if (torch == TORCH_USED)
			return s;
		if (torch == TORCH_FOUND && !found)
			found = s;
		pid = sys_parent(pid);
	}
	return found;
}

void job_unmake(void)
{
	int saved = errno;
	char *slash;

	if (!made[0] || maker != sys_pid())
		return;
	unlink(made);
	slash = strrchr(made, '/');
	*slash = '\0';
	rmdir(made); /* only when nobody else keeps anything there */
	made[0] = '\0';
	errno = saved;
}

void job_forget(void)
{
	job_mine = NULL;
}
