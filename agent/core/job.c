/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/job.h"
#include "agent/core/clock.h"
#include "agent/core/self.h"
#include "agent/core/spool.h"
#include "base/cpu_group.h"
#include "base/fmt.h"
#include "base/memory_group.h"
#include "base/seldom.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WEEK_NS (7 * 86400 * 1000000000ll)

struct job_page *job;
struct job_slot *job_mine;
static SELDOM char folder[4096]; /* the folder of the page that is mapped */
static uint64_t page_ino;
static uint32_t maker; /* our pid, if this process made the page */
static int locks = -1; /* the page's descriptor, from job_take_over to job_give_back */

int64_t job_base_ns(int64_t now_ns)
{
	return now_ns - now_ns % WEEK_NS;
}

const char *job_folder(void)
{
	return folder;
}

static struct job_page *map_page(int fd)
{
	int saved = errno;
	void *p = mmap(NULL, sizeof(struct job_page), PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

/* ---- making it ---- */

static size_t page_path(char *buf, size_t size)
{
	return fmt(buf, size, "%s/" JOB_PAGE, folder);
}

/* The page is written, not only made as long: so a full disk shows here as an error, and
 * not later as SIGBUS. */
static int fill_page(int fd)
{
	static SELDOM char zeros[64 * 1024]; /* not const: else the library holds it */
	int err = 0;

	for (size_t at = 0; at < sizeof(struct job_page) && !err; at += sizeof(zeros))
		err = sys_write_all(fd, zeros, sizeof(zeros));
	return err;
}

static void describe_page(uint32_t launcher_pid)
{
	ssize_t n = sys_read_file("/proc/sys/kernel/random/boot_id", job->boot_id,
				  sizeof(job->boot_id));

	job->boot_id[n > 0 ? strcspn(job->boot_id, "\n") : 0] = '\0';
	fmt(job->host, sizeof(job->host), "%s", self.host);
	job->base_ns = job_base_ns(sys_clock_ns(CLOCK_REALTIME));
	fmt(job->id, sizeof(job->id), "%s", strrchr(folder, '/') + 1);
	job->clock_kind = clock_kind;
	job->memory = memory_group_left();
	job->cpus = cpu_group_quota();
	job->launched = launcher_pid;
	atomic_store(&job->launcher, launcher_pid);
	/* The magic goes in last: a process that joins before that finds no page. */
	memcpy(job->magic, JOB_MAGIC, 8);
}

/* Pid and start time name the folder. An exec changes neither: the second folder of such
 * a process has the clock in its name as well. */
static int make_folder(const char *dir)
{
	int err = sys_mkdirs(dir, 0777);
	size_t n = fmt(folder, sizeof(folder), "%s/%s_%u.%lu", dir, self.host, self.pid,
		       (unsigned long)self.start_time);

	if (err || n + sizeof("/" JOB_PAGE) > sizeof(folder))
		return err ? err : -ENAMETOOLONG;
	err = sys_mkdir(folder, 0700);
	if (err != -EEXIST)
		return err;
	n += fmt(folder + n, sizeof(folder) - n, ".%lx", (unsigned long)clock_ticks());
	return n + sizeof("/" JOB_PAGE) > sizeof(folder) ? -ENAMETOOLONG
							 : sys_mkdir(folder, 0700);
}

int job_make(const char *dir, uint32_t launcher_pid)
{
	char path[sizeof(folder)];
	int err, fd = -1;
	struct sys_stat st;

	if (!self.pid)
		self_look(NULL);
	self_settle(0);
	err = sys_may_grow(sizeof(struct job_page)) ? make_folder(dir) : -EFBIG;
	if (err) {
		folder[0] = '\0';
		return err;
	}
	page_path(path, sizeof(path));
	fd = sys_open_high(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	err = fd < 0 ? fd : fill_page(fd);
	if (!err)
		err = sys_fstat(fd, &st);
	job = err ? NULL : map_page(fd);
	if (fd >= 0)
		sys_close(fd);
	/* job_unmake removes what is half made, if `maker` is this process. */
	maker = self.pid;
	if (!job) {
		job_unmake();
		return err ? err : -ENOMEM;
	}
	page_ino = st.ino;
	describe_page(launcher_pid);
	aside_share(job->known);
	return 0;
}

void job_unmake(void)
{
	char path[sizeof(folder)];
	int saved = errno;
	char *slash;

	if (!folder[0] || maker != sys_pid())
		return;
	page_path(path, sizeof(path));
	unlink(path);
	rmdir(folder); /* only when nobody else keeps anything there */
	slash = strrchr(folder, '/');
	*slash = '\0';
	rmdir(folder);
	folder[0] = '\0';
	errno = saved;
}

/* ---- finding it ---- */

/* A process that waits for torch, CUDA or a sample has no spool yet: this lock says that
 * the process is there. */
static void be_member(int fd)
{
	struct flock byte = { .l_type = F_RDLCK,
			      .l_whence = SEEK_SET,
			      .l_start = JOB_LOCK_MEMBER + (off_t)self.pid,
			      .l_len = 1 };
	int saved = errno;

	fcntl(fd, F_OFD_SETLK, &byte);
	errno = saved;
}

/* Only a file that we ourselves own, of the right size, is believed: others may write to
 * the folder, too, and what is mapped must not be cut off under us. */
static int join_file(const char *path, uint64_t ino)
{
	struct sys_stat st;
	const char *slash = strrchr(path, '/');
	int err, fd = sys_open_high(path, O_RDWR | O_NOFOLLOW, 0);

	if (fd < 0)
		return fd;
	err = sys_fstat(fd, &st);
	if (!err && (!S_ISREG(st.mode) || st.uid != geteuid() ||
		     st.size < sizeof(struct job_page) || (ino && st.ino != ino)))
		err = -EPERM;
	job = err ? NULL : map_page(fd);
	if (job)
		be_member(fd);
	sys_close(fd);
	if (job && memcmp(job->magic, JOB_MAGIC, 8)) {
		munmap(job, sizeof(*job));
		job = NULL;
		err = -EINVAL;
	}
	if (!job)
		return err ? err : -ENOMEM;
	fmt(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1,
	    slash ? path : ".");
	page_ino = st.ino;
	aside_share(job->known);
	return 0;
}

/* "<inode>:<path>" */
static int join_named(const char *text)
{
	uint64_t ino = 0;

	while (*text >= '0' && *text <= '9')
		ino = ino * 10 + (uint64_t)(*text++ - '0');
	return join_file(*text == ':' ? text + 1 : text, ino);
}

static int join_of(const char *dir, uint32_t pid, uint64_t start)
{
	char guess[sizeof(folder)];

	if (fmt(guess, sizeof(guess), "%s/%s_%u.%lu/" JOB_PAGE, dir, self.host, pid,
		(unsigned long)start) >= sizeof(guess))
		return -ENAMETOOLONG;
	return join_file(guess, 0);
}

int job_join(const char *named, const char *dir)
{
	if (named && *named)
		return join_named(named);
	if (dir && !join_of(dir, self.pid, self.start_time))
		return 0;
	for (unsigned i = 0; dir && i < self.ancestors; i++)
		if (!join_of(dir, self.ancestor[i].pid, self.ancestor[i].start_time))
			return 0;
	return -ENOENT;
}

size_t job_name(char *buf, size_t size)
{
	return fmt(buf, size, "%lu:%s/" JOB_PAGE, (unsigned long)page_ino, folder);
}

/* ---- slots ---- */

static bool slot_dead(const struct job_slot *s, uint32_t pid)
{
	uint64_t start = sys_start_time(pid);

	return !start || (s->start_time && start != s->start_time);
}

/* Takes a free slot or, with dead_too, that of a process which has gone. */
static struct job_slot *slot_claim(bool dead_too)
{
	for (unsigned i = 0; i < JOB_SLOTS; i++) {
		struct job_slot *s = &job->slot[i];
		uint32_t owner = atomic_load(&s->pid);

		if (owner && !(dead_too && slot_dead(s, owner)))
			continue;
		if (atomic_compare_exchange_strong(&s->pid, &owner, self.pid))
			return s;
	}
	return NULL;
}

int job_enlist(void)
{
	struct job_slot *s;

	if (!job)
		return -ENOENT;
	s = slot_claim(false);
	/* Under a launcher the finisher frees the slots of the dead; to find out who is
	 * dead is to open a file for each. */
	if (!s && !atomic_load(&job->launcher))
		s = slot_claim(true);
	if (!s)
		return -ENOSPC;
	s->start_time = self.start_time;
	s->spool = (uint32_t)spool.ino;
	atomic_store(&s->torch, 0);
	atomic_store(&s->gate, 0);
	atomic_store(&s->boundaries, 0);
	atomic_store(&s->leader, 0);
	memset(s->window, 0, sizeof(s->window));
	job_mine = s;
	return 0;
}

static struct job_slot *slot_of(uint32_t pid, uint64_t start)
{
	for (unsigned i = 0; i < JOB_SLOTS; i++) {
		struct job_slot *s = &job->slot[i];

		if (atomic_load(&s->pid) == pid && s->start_time == start)
			return s;
	}
	return NULL;
}

struct job_slot *job_ancestor(void)
{
	struct job_slot *found = NULL;

	for (unsigned i = 0; job && i < self.ancestors; i++) {
		struct job_slot *s =
			slot_of(self.ancestor[i].pid, self.ancestor[i].start_time);
		uint32_t torch = s && s != job_mine ? atomic_load(&s->torch) : TORCH_NONE;

		if (torch == TORCH_USED)
			return s;
		if (torch == TORCH_FOUND && !found)
			found = s;
	}
	return found;
}

/* ---- with a finisher ---- */

void job_handed(void)
{
	atomic_fetch_add(&job->handed, 1);
	sys_futex_wake_all(&job->handed);
}

bool job_take_over(void)
{
	struct flock both = { .l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = JOB_LOCK_LAUNCHER,
			      .l_len = JOB_LOCK_FINISHER - JOB_LOCK_LAUNCHER + 1 };
	char path[sizeof(folder)];
	struct sys_stat st;
	int saved = errno;

	page_path(path, sizeof(path));
	locks = sys_open(path, O_RDWR | O_NOFOLLOW, 0);
	if (locks < 0)
		return false;
	/* By now another job's page may have that name. */
	if (!sys_fstat(locks, &st) && st.ino == page_ino &&
	    !fcntl(locks, F_OFD_SETLK, &both)) {
		errno = saved;
		return true;
	}
	job_give_back();
	errno = saved;
	return false;
}

void job_give_back(void)
{
	sys_close(locks);
	locks = -1;
}

void job_forget(void)
{
	job_mine = NULL;
}
