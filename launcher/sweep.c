/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/sweep.h"
#include "agent/core/config.h"
#include "agent/core/job.h"
#include "agent/core/sys.h"
#include "launcher/owner.h"
#include "launcher/say.h"
#include "writer/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct found {
	struct sweep *s;
	const char *dir, *name;
	int fd;
	struct spool_view view;
	void *base;
	size_t size;
};

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

static void fail(struct found *f, const char *why)
{
	say_warn("%s/%s: %s", f->dir, f->name, why);
	f->s->failed++;
}

static void discard(struct found *f)
{
	char path[PATH_MAX];

	if (!*f->dir)
		return; /* in memory */
	snprintf(path, sizeof(path), "%s/%s", f->dir, f->name);
	if (unlink(path) && errno != ENOENT)
		fail(f, strerror(errno));
}

/* ---- totals ---- */

#define GET(x) atomic_load_explicit(&(x), memory_order_relaxed)

/* The file that says most of the run: none of a process that followed another's windows,
 * if there is one. */
static void keep_last(struct sweep *s, const char *path)
{
	bool follows = strstr(path, "/children/");

	if (*path && (!*s->last_file || !follows || strstr(s->last_file, "/children/")))
		snprintf(s->last_file, sizeof(s->last_file), "%.4095s", path);
}

static void add_header(struct sweep *s, struct spool_header *h)
{
	struct spool_totals *t = &h->totals;
	struct spool_sched *c = &h->sched;

	if (GET(c->boundaries) >= s->boundaries)
		snprintf(s->chosen, sizeof(s->chosen), "%.63s", c->chosen);
	s->files += GET(t->files);
	s->steps += GET(t->steps);
	s->cost_ns += GET(t->cost_ns);
	s->discarded += GET(t->discarded);
	for (unsigned i = 0; i < REC_KINDS; i++) {
		s->events[i] += GET(t->events[i]);
		s->drops[i] += GET(t->drops[i]);
	}
	for (unsigned i = 0; i < DROP_WHYS; i++)
		s->whys[i] += GET(t->whys[i]);
	for (unsigned i = 0; i < CUDA_COUNTS; i++)
		s->cuda[i] += GET(t->cuda[i]);
	for (unsigned i = 0; i < HEAP_COUNTS; i++)
		s->heap[i] += GET(t->heap[i]);
	s->windows += GET(c->windows);
	s->missed += GET(c->missed);
	s->boundaries += GET(c->boundaries);
	s->optimizer_steps += GET(c->optimizer_steps);
	s->loader_nexts += GET(c->loader_nexts);
	s->backwards += GET(c->backwards);
	s->marker_hits += GET(c->marker_hits);
	keep_last(s, t->last_file);
}

/* Why records of windows that nobody has written yet were dropped. */
static void add_whys(struct sweep *s, const struct spool_view *v)
{
	const struct chunk *c;
	uint64_t at = 0;

	while ((c = spool_view_next(v, &at))) {
		struct cycle_info *info = (void *)(c + 1);

		if (GET(((struct chunk *)c)->kind) != CHUNK_CYCLE ||
		    (GET(info->state) != CYCLE_OPEN && GET(info->state) != CYCLE_SEALED))
			continue;
		for (unsigned i = 0; i < DROP_WHYS; i++)
			s->whys[i] += GET(info->whys[i]);
	}
}
_Static_assert(sizeof(struct chunk) + sizeof(struct cycle_info) <= CHUNK_SMALL,
	       "in any chunk");

static void add_result(const struct writer_result *r, void *arg)
{
	struct sweep *s = arg;

	if (!*r->path)
		return;
	s->made++;
	s->files++;
	s->steps += r->steps;
	s->cost_ns += r->overhead_ns;
	for (unsigned i = 0; i < REC_KINDS; i++) {
		s->events[i] += r->events[i];
		s->drops[i] += r->drops[i];
	}
	for (unsigned i = 0; i < CUDA_COUNTS; i++)
		s->cuda[i] += r->cuda[i];
	for (unsigned i = 0; i < HEAP_COUNTS; i++)
		s->heap[i] += r->heap[i];
	keep_last(s, r->path);
	if (s->file)
		s->file(r->path, s->arg);
}

/* ---- one spool ---- */

/* The mapping is our private copy: say in it where the traces shall go, if the
 * directory has moved since (a volume that is mounted elsewhere now). */
static void redirect(struct found *f)
{
	struct spool_header *h = f->base;
	struct config c;
	char text[SPOOL_CONFIG], *line, *next;

	if (!f->s->logdir)
		return;
	config_defaults(&c);
	memcpy(text, h->config, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		config_line(&c, line);
	}
	if (!config_set(&c, "logdir", f->s->logdir))
		config_print(&c, h->config, sizeof(h->config));
}

static void finish(struct found *f)
{
	struct spool_header *h = f->base;
	struct stat st;
	int err;

	/* The owner's lock does not keep two sweeps apart (it may be inherited by a
	 * child of a dead owner): this one does. The other may be done already. */
	if (*f->dir &&
	    (flock(f->fd, LOCK_EX | LOCK_NB) || fstat(f->fd, &st) || !st.st_nlink)) {
		f->s->living += !f->s->job;
		return;
	}
	h->totals.last_file[sizeof(h->totals.last_file) - 1] = '\0';
	add_header(f->s, h);
	add_whys(f->s, &f->view);
	redirect(f);
	err = writer_recover(&f->view, add_result, f->s);
	if (err)
		fail(f, sys_error(err));
	else
		discard(f);
}

static void judge(struct found *f)
{
	const struct spool_header *h = f->view.head;

	if (f->s->job && strncmp(h->job, f->s->job, sizeof(h->job)))
		return;
	f->s->spools++;
	if (!f->s->job && owner_job_lives(f->dir, h->job)) {
		say_warn("%s/%s: left to the proflaunch that is running it", f->dir,
			 f->name);
		f->s->living++;
		return;
	}
	switch (owner_of(f->fd, h)) {
	case OWNER_DEAD:
		finish(f);
		break;
	case OWNER_LIVES:
		f->s->living++;
		if (!f->s->job)
			say_warn("%s/%s: left alone, process %u is still running", f->dir,
				 f->name, h->pid);
		break;
	case OWNER_FOREIGN:
		f->s->living++;
		say_warn("%s/%s: left alone, it belongs to host %.71s: run recover there",
			 f->dir, f->name, h->host);
		break;
	case OWNER_UNSURE:
		f->s->living++;
		say_warn(
			"%s/%s: left alone, this file system cannot tell whether its process lives (no locks)",
			f->dir, f->name);
	}
}

/* A header that was never written: its process died while it made the file, or is
 * about to write it. */
static void judge_unborn(struct found *f)
{
	static const char zeros[8];

	if (f->size >= 8 && memcmp(f->base, zeros, 8)) {
		if (!f->s->job)
			fail(f,
			     "is damaged, or from another version of proflaunch: remove it when it is of no use");
		return;
	}
	if (owner_name_dead(f->name))
		discard(f);
}

static void map(struct found *f)
{
	f->base = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, f->fd, 0);
	if (f->base == MAP_FAILED) {
		fail(f, strerror(errno));
		return;
	}
	if (spool_view_init(&f->view, f->base, f->size))
		judge_unborn(f);
	else
		judge(f);
	munmap(f->base, f->size);
}

static void sweep_one(struct sweep *s, int dir_fd, const char *dir, const char *name)
{
	struct found f = { .s = s, .dir = dir, .name = name };
	struct stat st;

	/* The owner's lock is a write lock: only who may write can ask for it. */
	f.fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (f.fd < 0) {
		if (errno != ENOENT && !s->job)
			fail(&f, strerror(errno));
		return;
	}
	if (fstat(f.fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		if (!s->job)
			fail(&f, "is no regular file of yours: left alone");
	} else if (st.st_size > 0) {
		f.size = (size_t)st.st_size;
		map(&f);
	} else if (owner_name_dead(name)) {
		discard(&f);
	}
	close(f.fd);
}

bool sweep_memory(struct sweep *s, int fd)
{
	struct found f = { .s = s, .dir = "", .name = "a spool in memory", .fd = fd };
	unsigned living = s->living;
	struct stat st;

	if (fstat(fd, &st) || st.st_size <= 0)
		return true;
	f.size = (size_t)st.st_size;
	map(&f);
	return s->living == living;
}

void sweep_dir(struct sweep *s, const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (has_suffix(e->d_name, ".spool"))
			sweep_one(s, fd, dir, e->d_name);
	closedir(d);
}

/* ---- job pages ---- */

static bool page_in_use(int fd)
{
	struct job_page *p = mmap(NULL, sizeof(*p), PROT_READ, MAP_SHARED, fd, 0);
	bool used = false;

	if (p == MAP_FAILED)
		return true;
	for (unsigned i = 0; i < JOB_SLOTS && !used; i++) {
		uint32_t pid = GET(p->slot[i].pid);

		used = pid && owner_process_lives(pid, p->slot[i].start_time);
	}
	munmap(p, sizeof(*p));
	return used;
}

void sweep_pages(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (!d)
		return;
	while ((e = readdir(d))) {
		if (!has_suffix(e->d_name, ".job") || !owner_name_dead(e->d_name))
			continue;
		int page = openat(fd, e->d_name,
				  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

		if (page < 0)
			continue;
		if (!fstat(page, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		    (st.st_size < (off_t)sizeof(struct job_page) || !page_in_use(page)))
			unlinkat(fd, e->d_name, 0);
		close(page);
	}
	closedir(d);
	if (has_suffix(dir, "/.proflaunch"))
		rmdir(dir);
}
