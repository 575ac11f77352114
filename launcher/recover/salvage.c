/* SPDX-License-Identifier: Apache-2.0 */
/* What `recover` does with a job's folder. It may be called beside living jobs, so three
 * things tell whether a spool's process lives: the locks of the job's page, the lock of
 * the spool itself, and the process that its header names. Where they cannot tell the
 * spool is left alone, with a line that says so. Spools and pages may be damaged, or made
 * by another user to harm: only regular files of our own user are read, opened without
 * following links or waiting for pipes, and never by a path that stands in one of
 * them. */
#include "launcher/recover/salvage.h"
#include "base/sys.h"
#include "base/text.h"
#include "config/place.h"
#include "finisher/life.h"
#include "finisher/page.h"
#include "finisher/small.h"
#include "finisher/task.h"
#include "launcher/say.h"
#include "writer/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_TRIES 100 /* for a process that was killed, and is just ending */
#define END_US    20000
/* How long recover waits for locks: that of a launcher or finisher that was killed goes
 * with the last reference to its memory, which who reads its state under /proc may have.
 */
#define LOCK_WAIT_NS 500000000ll

struct job_folder {
	struct salvage *s;
	const char *path;
	int fd;
	struct task_how how;
	struct small_rows rows;
	_Atomic uint32_t own;
	bool ours; /* only a job's files lie in the folder */
	unsigned left; /* spools that stay */
};

struct spool_file {
	const char *name;
	int fd;
	uint64_t ino;
	const struct spool_header *h; /* NULL: nothing was recorded */
};

static void note_failure(struct job_folder *j, const char *name, const char *why)
{
	say_warn("%s/%s: %s", j->path, name, why);
	j->s->totals.failed++;
	j->left++;
}

static void remove_file(struct job_folder *j, const char *name)
{
	if (unlinkat(j->fd, name, 0) && errno != ENOENT)
		note_failure(j, name, strerror(errno));
}

/* ---- whose spool it is ---- */

static bool read_header(int fd, struct spool_header *h)
{
	return !copy_bytes(fd, h, 0, sizeof(*h)) && !memcmp(h->magic, SPOOL_MAGIC, 8);
}

static void leave_alone(struct job_folder *j, const char *name, const char *why)
{
	say_warn("%s/%s: left alone, %s", j->path, name, why);
	j->s->totals.living++;
	j->left++;
}

/* Does another machine write the spool? On a shared file system locks do not tell of
 * it. */
static bool is_foreign(const struct job_folder *j, const struct spool_header *h)
{
	char host[72];

	sys_host(host, sizeof(host));
	return !place_is_local(j->path) && strncmp(h->host, host, sizeof(h->host));
}

static bool is_dead(struct job_folder *j, const struct spool_file *s)
{
	struct life_who who = { .name = s->name, .ino = s->ino };
	const struct spool_header *h = s->h;
	int locked = life_locked(s->fd);
	enum life life;
	char why[128];

	if (h && is_foreign(j, h)) {
		snprintf(why, sizeof(why), "it belongs to host %.71s: run recover there",
			 h->host);
		leave_alone(j, s->name, why);
		return false;
	}
	if (h && h->pid_ns == life_namespace()) {
		who.pid = h->pid;
		who.start = h->start_time;
	}
	for (int i = 0; i < END_TRIES && locked > 0 && life_ends(who.pid); i++) {
		usleep(END_US);
		locked = life_locked(s->fd);
	}
	/* Without a lock the process lives only where it is seen to: on overlayfs. */
	life = life_look(&who);
	if (life == LIFE_GONE || (!locked && life != LIFE_HERE))
		return true;
	if (locked < 0)
		leave_alone(
			j, s->name,
			"this file system cannot tell whether its process lives (no locks)");
	else if (who.pid) {
		snprintf(why, sizeof(why), "process %u is still running", who.pid);
		leave_alone(j, s->name, why);
	} else
		leave_alone(j, s->name, "its process is still running");
	return false;
}

/* Is it a spool of the log directory asked for? Jobs of several may lie side by side. */
static bool is_asked_for(const struct job_folder *j, const struct spool_header *h)
{
	char line[CONFIG_TEXT + 16];
	const char *at;

	if (!j->s->only || !h)
		return !j->s->only;
	snprintf(line, sizeof(line), "logdir = %s\n", j->s->only);
	at = memmem(h->config, sizeof(h->config), line, strlen(line));
	return at && (at == h->config || at[-1] == '\n');
}

/* ---- one spool ---- */

/* How the process's open window ends, by the page that the job has left. */
static struct leader_cut cut_of(const struct job_folder *j, const struct spool_file *s)
{
	const struct page *page = j->how.page;
	const struct spool_header *h = s->h;
	int slot = -1;

	if (page && h)
		slot = page_slot(page, h->pid, h->start_time, s->ino);
	if (page && h && slot < 0) /* page and spool were copied here */
		slot = page_slot(page, h->pid, h->start_time, 0);
	leader_look(page, slot, &(struct leader_wait){ 0 }, 0);
	return leader_cut(page, slot);
}

static void finish_spool(struct job_folder *j, const struct spool_file *s)
{
	struct task t = { .how = &j->how,
			  .name = s->name,
			  .fd = s->fd,
			  .dead = true,
			  .cut = cut_of(j, s) };
	int err = task_run(&t);

	if (!err || err == -ENODATA)
		remove_file(j, s->name);
	else if (err == -EINVAL)
		note_failure(
			j, s->name,
			"is damaged, or from another version of proflaunch: remove it when it is of no use");
	else
		note_failure(j, s->name, sys_error(err));
}

static void look_at(struct job_folder *j, const char *name)
{
	int fd = openat(j->fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct spool_header *h = malloc(sizeof(*h));
	struct spool_file s = { .name = name, .fd = fd };
	struct stat st;

	if (!h || fd < 0) {
		if (fd < 0 && errno != ENOENT)
			note_failure(j, name, strerror(errno));
		goto out;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		note_failure(j, name, "is no regular file of yours: left alone");
		goto out;
	}
	s.ino = st.st_ino;
	s.h = read_header(fd, h) ? h : NULL;
	/* flock: where no page with locks is there, it keeps two recovers apart. */
	if (!is_asked_for(j, s.h) || flock(fd, LOCK_EX | LOCK_NB)) {
		j->left++;
	} else if (is_dead(j, &s)) {
		copy_trim(fd);
		finish_spool(j, &s);
	}
out:
	if (fd >= 0)
		close(fd);
	free(h);
}

/* Removes a spool that was still being made, unless its process has the lock. */
static void look_at_new(struct job_folder *j, const char *name)
{
	int fd = openat(j->fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!life_locked(fd))
		remove_file(j, name);
	else
		j->left++;
	close(fd);
}

/* ---- one job ---- */

/* Goes by name, so that two runs over the same spools make the same files in the same
 * order. */
static void look_at_all(struct job_folder *j)
{
	struct dirent **e;
	int n = scandirat(j->fd, ".", &e, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (text_ends(e[i]->d_name, ".spool"))
			look_at(j, e[i]->d_name);
		else if (j->ours && (text_ends(e[i]->d_name, ".new") ||
				     text_ends(e[i]->d_name, ".spare")))
			look_at_new(j, e[i]->d_name);
		free(e[i]);
	}
	if (n >= 0)
		free(e);
}

static void write_rows(struct job_folder *j)
{
	char path[PATH_MAX];
	uint64_t rows;
	int err = small_write(&j->rows, j->s->logdir, text_base(j->path), false, &rows,
			      path, sizeof(path));

	if (err)
		note_failure(j, SMALL_ROWS, sys_error(err));
	else if (rows) {
		j->s->totals.made++;
		j->s->file(path, NULL);
	}
}

/* All jobs together are waited for no longer than LOCK_WAIT_NS. */
static int open_locked(struct salvage *s, struct page *page, const char *path,
		       unsigned lock)
{
	int64_t begin = sys_clock_ns(CLOCK_MONOTONIC);
	int64_t left = LOCK_WAIT_NS - s->waited_ns;
	int err = page_open(page, path, lock, left > 0 ? left : 0);

	s->waited_ns += sys_clock_ns(CLOCK_MONOTONIC) - begin;
	return err;
}

/* Locks both bytes of the page; one that went meanwhile is nobody's. False: it is left.
 */
static bool lock_page(struct salvage *s, struct page pages[2], const char *path)
{
	const char *who = "the proflaunch that is running it";
	int err;

	pages[0].fd = pages[1].fd = -1;
	if (access(path, F_OK))
		return true;
	err = open_locked(s, &pages[0], path, JOB_LOCK_LAUNCHER);
	if (!err && (err = open_locked(s, &pages[1], path, JOB_LOCK_FINISHER)))
		who = "the proflaunch that finishes it";
	if (err == -ENOENT)
		page_close(&pages[0]);
	else if (err)
		say_warn("%s: left to %s", path, who);
	return !err || err == -ENOENT;
}

/* Plans tasks from the page: recover goes on where the finisher was, if there was one. */
static void plan_tasks(struct job_folder *j, const struct page *page)
{
	bool is_there = page->fd >= 0;

	j->rows = (struct small_rows){ j->fd, -1 };
	atomic_store(&j->own, is_there ? page_own(page) : 0);
	j->how = (struct task_how){ .logdir = j->s->logdir,
				    .totals = &j->s->totals,
				    .own = &j->own,
				    .page = is_there ? page : NULL,
				    .rows = &j->rows,
				    .launcher = is_there ? page_launcher(page) : 0,
				    .file = j->s->file };
}

/* Leaves a folder whose living processes have recorded nothing so far: they may yet. */
static void leave_members(struct job_folder *j, const struct page *page)
{
	uint32_t pid;

	if (j->left || page->fd < 0 || !page_members(page, &pid, 1))
		return;
	say_warn("%s: left alone, a process of it is still running", j->path);
	j->s->totals.living++;
	j->left++;
}

static void work_on_folder(struct job_folder *j)
{
	struct page pages[2];
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" JOB_PAGE, j->path) >= (int)sizeof(path))
		return;
	if (!lock_page(j->s, pages, path)) {
		j->s->totals.living++;
		page_close(&pages[0]);
		return;
	}
	plan_tasks(j, &pages[1]);
	look_at_all(j);
	if (j->ours && (!j->s->only || !j->left))
		write_rows(j);
	leave_members(j, &pages[1]);
	if (j->ours && !j->left)
		unlink(path);
	small_close(&j->rows);
	for (int i = 0; i < 2; i++)
		page_close(&pages[i]);
}

static bool is_job(const char *folder)
{
	char path[PATH_MAX], magic[8] = "";
	int fd = -1;
	bool is = false;

	if (snprintf(path, sizeof(path), "%s/" JOB_PAGE, folder) < (int)sizeof(path))
		fd = sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd >= 0) {
		is = !copy_bytes(fd, magic, 0, sizeof(magic)) &&
		     !memcmp(magic, JOB_MAGIC, sizeof(magic));
		close(fd);
	}
	return is;
}

static void salvage_folder(struct salvage *s, const char *folder, bool ours)
{
	struct job_folder j = { .s = s, .path = folder, .ours = ours };

	j.fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (j.fd < 0)
		return;
	work_on_folder(&j);
	close(j.fd);
	if (ours && !j.left)
		rmdir(folder);
}

void salvage_job(struct salvage *s, const char *folder)
{
	salvage_folder(s, folder, is_job(folder));
}

/* Leaves out folders of other users, and names that begin with a dot, which no job
 * has. */
void salvage_all(struct salvage *s, const char *dir)
{
	struct dirent **e;
	char path[PATH_MAX];
	int n = scandir(dir, &e, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		struct stat st;

		if (e[i]->d_name[0] != '.' && !text_ends(e[i]->d_name, ".spool") &&
		    snprintf(path, sizeof(path), "%s/%s", dir, e[i]->d_name) <
			    (int)sizeof(path) &&
		    !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
			salvage_folder(s, path, true);
		free(e[i]);
	}
	if (n < 0)
		return;
	free(e);
	salvage_folder(s, dir, false);
}
