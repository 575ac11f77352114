/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/owner.h"
#include "agent/core/job.h"
#include "agent/core/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLAGS_FIELD 7 /* in /proc/<pid>/stat, counted from the state */
#define PF_EXITING  4ul

enum life { GONE, ZOMBIE, ALIVE };

/* On its way out: its files are closed already, but it is not a zombie yet. */
static bool exiting(const char *state)
{
	for (unsigned field = 1; state && field < FLAGS_FIELD; field++) {
		state = strchr(state, ' ');
		if (state)
			state++;
	}
	return state && strtoul(state, NULL, 10) & PF_EXITING;
}

static enum life life_of(uint32_t pid, uint64_t start_time)
{
	char path[64], text[1024], *p;
	uint64_t start = sys_start_time(pid);

	if (!start || start != start_time)
		return GONE;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return GONE;
	p = strrchr(text, ')');
	if (!p || !p[1])
		return ALIVE;
	return p[2] == 'Z' || p[2] == 'X' || exiting(p + 2) ? ZOMBIE : ALIVE;
}

bool owner_process_lives(uint32_t pid, uint64_t start_time)
{
	return life_of(pid, start_time) == ALIVE;
}

/* 0 = the lock is ours now, -EAGAIN = somebody holds it, else it says nothing. */
static int try_lock(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (!fcntl(fd, F_OFD_SETLK, &whole))
		return 0;
	return errno == EACCES || errno == EAGAIN ? -EAGAIN : -errno;
}

static bool same_text(const char *a, const char *b, size_t size)
{
	return !strncmp(a, b, size);
}

static bool same_boot(const struct spool_header *h)
{
	char boot[64] = "";

	sys_read_file("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	boot[strcspn(boot, "\n")] = '\0';
	return same_text(h->boot_id, boot, sizeof(h->boot_id));
}

static bool same_namespace(const struct spool_header *h)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == h->pid_ns;
}

enum owner owner_of(int fd, const struct spool_header *h)
{
	char host[72];
	bool boot = same_boot(h);
	enum life life;
	int lock;

	sys_host(host, sizeof(host));
	/* Containers on one machine have their own names: the boot id says it, too. */
	if (!boot && !same_text(h->host, host, sizeof(h->host)))
		return OWNER_FOREIGN;
	lock = try_lock(fd);
	if (boot && same_namespace(h)) {
		life = life_of(h->pid, h->start_time);
		/* A lock that outlives its owner was inherited by a child of it, which
		 * cannot write there. A zombie's other threads may still run. */
		if (life == GONE || (life == ZOMBIE && !lock))
			return OWNER_DEAD;
		/* exec keeps pid and start time, and drops the lock: the old image's. */
		return lock ? OWNER_LIVES : OWNER_DEAD;
	}
	return !lock ? OWNER_DEAD : lock == -EAGAIN ? OWNER_LIVES : OWNER_UNSURE;
}

/* "<host>_<pid>.<start>": host names hold no underscore behind their last one. */
static bool parse_name(const char *name, uint32_t *pid, uint64_t *start)
{
	char host[72];
	size_t len;
	const char *p;
	char *end;

	sys_host(host, sizeof(host));
	len = strlen(host);
	if (strncmp(name, host, len) || name[len] != '_')
		return false;
	p = name + len + 1;
	*pid = (uint32_t)strtoul(p, &end, 10);
	if (end == p || *end != '.')
		return false;
	p = end + 1;
	*start = strtoull(p, &end, 10);
	return end != p;
}

bool owner_name_dead(const char *name)
{
	uint64_t start;
	uint32_t pid;

	return parse_name(name, &pid, &start) && life_of(pid, start) != ALIVE;
}

bool owner_job_lives(const char *dir, const char *name)
{
	struct job_page page;
	char path[PATH_MAX], id[80];
	uint64_t start;
	uint32_t pid;
	int fd;

	snprintf(id, sizeof(id), "%.72s", name);
	if (!*id || strchr(id, '/') ||
	    snprintf(path, sizeof(path), "%s/%s.job", dir, id) >= (int)sizeof(path))
		return false;
	fd = sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, &page, offsetof(struct job_page, slot));

	sys_close(fd);
	return n == (ssize_t)offsetof(struct job_page, slot) &&
	       atomic_load(&page.launcher) && parse_name(id, &pid, &start) &&
	       life_of(pid, start) == ALIVE;
}
