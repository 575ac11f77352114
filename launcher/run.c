/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/run.h"
#include "agent/core/clock.h"
#include "agent/core/job.h"
#include "agent/core/place.h"
#include "agent/core/sys.h"
#include "launcher/child.h"
#include "launcher/closing.h"
#include "launcher/environment.h"
#include "launcher/find.h"
#include "launcher/holder.h"
#include "launcher/say.h"
#include "launcher/sweep.h"
#include "launcher/symbol_parts.h"
#include "launcher/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRACE_TRIES 20
#define GRACE_US    50000

#define TRIES 20 /* another launcher may remove the empty directory just now */

struct run {
	struct config *config;
	char agent[PATH_MAX];
	char spool_dir[PATH_MAX]; /* where spools and the job page lie */
	char page[PATH_MAX]; /* the job page */
	bool made_logdir;
};

static int absolute(char *path, size_t size)
{
	char cwd[PATH_MAX], full[2 * PATH_MAX];
	const char *rest = path;

	if (*path == '/')
		return 0;
	if (!getcwd(cwd, sizeof(cwd)))
		return -errno;
	while (!strncmp(rest, "./", 2))
		rest += 2 + strspn(rest + 2, "/");
	if (!strcmp(rest, "."))
		rest = "";
	snprintf(full, sizeof(full), "%s%s%s", strcmp(cwd, "/") ? cwd : "",
		 *rest || !cwd[1] ? "/" : "", rest);
	if (strlen(full) >= size)
		return -ENAMETOOLONG;
	strcpy(path, full);
	return 0;
}

int run_absolute(struct config *c)
{
	return absolute(c->logdir, sizeof(c->logdir));
}

/* ---- before ---- */

static bool unprofiled(const char *what, const char *why)
{
	say_warn("%s: %s: the program runs without being profiled", what, why);
	return false;
}

static bool prepare_logdir(struct run *r)
{
	struct config *c = r->config;
	int err = run_absolute(c);

	if (!err && strchr(c->spool, '/'))
		err = absolute(c->spool, sizeof(c->spool));
	if (err)
		return unprofiled(c->logdir, sys_error(err));
	r->made_logdir = access(c->logdir, F_OK) != 0;
	for (unsigned i = 0; i < TRIES && (!i || err == -ENOENT); i++)
		err = sys_mkdirs(c->logdir, 0777);
	if (!err && access(c->logdir, W_OK | X_OK))
		err = -errno;
	return err ? unprofiled(c->logdir, strerror(-err)) : true;
}

/* The page that all processes of this run share; made first, it also tells whether
 * the directory can be written. */
static bool prepare_job(struct run *r)
{
	struct config *c = r->config;
	const char *why;
	int err = place_spool(c, getenv("TMPDIR"), r->spool_dir, sizeof(r->spool_dir),
			      &why);
	size_t n;

	if (err)
		return unprofiled(c->logdir, strerror(-err));
	if (!*r->spool_dir)
		say_note(
			"records are kept in memory (%s): they are lost when proflaunch itself is killed",
			why);
	/* All processes use what was decided here, whatever their TMPDIR says. */
	snprintf(c->spool, sizeof(c->spool), "%.1000s",
		 *r->spool_dir ? r->spool_dir : "memory");
	if (!*r->spool_dir)
		snprintf(r->spool_dir, sizeof(r->spool_dir), "%s/.proflaunch", c->logdir);
	for (unsigned i = 0; i < TRIES && (!i || err == -ENOENT); i++)
		err = job_make(r->spool_dir, (uint32_t)getpid());
	if (err)
		return unprofiled(r->spool_dir, strerror(-err));
	holder_open(job->id);
	n = (size_t)snprintf(r->page, sizeof(r->page), "%s/%.71s.job", r->spool_dir,
			     job->id);
	return n < sizeof(r->page) || unprofiled(r->spool_dir, strerror(ENAMETOOLONG));
}

/* Where others can see it the agent says so itself, however it came there. */
static void look_for_allocator(const struct config *c, const char *image)
{
	struct symbol_file f;

	if (c->malloc && symbol_file_open(&f, image) && symbol_file_hides(&f, "malloc"))
		say_warn(
			"malloc: %s has an allocator inside that nobody else can see: what the program itself allocates is not recorded",
			image);
	if (c->malloc)
		symbol_file_close(&f);
}

static bool prepare_agent(struct run *r, const struct target *t)
{
	if (*t->why) {
		say_warn("%s %s: it runs without being profiled (%s)", t->image, t->why,
			 t->advice);
		return false;
	}
	if (find_agent(r->agent, sizeof(r->agent)))
		return unprofiled("libproflaunch.so",
				  "is neither beside proflaunch nor in ../lib");
	if (strpbrk(r->agent, " :"))
		return unprofiled(r->agent,
				  "a path with a blank or a colon cannot be preloaded");
	look_for_allocator(r->config, t->image);
	return true;
}

/* ---- after ---- */

static void look_at_page(struct closing *c)
{
	for (unsigned i = 0; i < JOB_SLOTS; i++)
		c->started |= atomic_load(&job->slot[i].pid) != 0;
}

static void clean(struct run *r, bool living)
{
	char own[PATH_MAX];

	if (!living)
		unlink(r->page);
	sweep_pages(r->spool_dir);
	if (snprintf(own, sizeof(own), "%s/.proflaunch", r->config->logdir) <
	    (int)sizeof(own))
		rmdir(own);
	if (r->made_logdir)
		rmdir(r->config->logdir); /* only goes when nothing was written */
}

static bool sweep_held(int fd, void *arg)
{
	return sweep_memory(arg, fd);
}

static void sweep(struct sweep *s, const char *dir)
{
	sweep_dir(s, dir);
	holder_each(sweep_held, s);
}

static void finish(struct run *r, double seconds)
{
	struct sweep s = { .job = job->id };
	struct closing c = { .config = r->config,
			     .sweep = &s,
			     .spool_dir = r->spool_dir,
			     .seconds = seconds };

	sweep(&s, r->spool_dir);
	/* Helpers (forkserver, workers) notice a moment later that the program has gone.
	 */
	for (int i = 0; s.living && i < GRACE_TRIES; i++) {
		usleep(GRACE_US);
		s.living = s.spools = 0;
		sweep(&s, r->spool_dir);
	}
	look_at_page(&c);
	/* What lives on finishes its own traces, or leaves them for `recover`. */
	if (s.living)
		atomic_store(&job->launcher, 0);
	clean(r, s.living);
	closing_say(&c);
}

/* ---- all of it ---- */

static int not_found(const char *name, int err)
{
	say_warn("%s: %s", name, err == -ENOENT ? "command not found" : strerror(-err));
	return err == -ENOENT ? 127 : 126;
}

int run_main(struct args *a, char **env)
{
	static struct run r;
	static struct target t;
	char **child_env = env;
	int64_t begin_ns;
	int status, err;

	r.config = &a->config;
	err = target_find(&t, a->command[0]);
	if (err)
		return not_found(a->command[0], err);
	if (prepare_agent(&r, &t) && prepare_logdir(&r) && prepare_job(&r))
		child_env = environment_make(env, r.config, r.agent, r.page);
	if (!child_env)
		child_env = env;
	begin_ns = clock_get_ns(CLOCK_MONOTONIC);
	err = child_run(t.path, t.text, a->command, child_env, &status);
	if (job)
		finish(&r, (double)(clock_get_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9);
	if (err) {
		say_warn("cannot start a process: %s", strerror(-err));
		return 126;
	}
	child_mimic(status);
}
