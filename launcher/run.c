/* SPDX-License-Identifier: Apache-2.0 */
/* Each preparation may fail. Where the user can mend it (a directory that cannot be
 * written) nothing is started; else, and where the command must run, a line says so and
 * the program runs without being profiled. After the command the order matters: wait for
 * the finisher, read the page, remove empty folders, say the closing words, and end as
 * the command did. */
#include "launcher/run.h"
#include "agent/core/clock.h"
#include "agent/core/job.h"
#include "agent/core/job_count.h"
#include "base/sys.h"
#include "config/place.h"
#include "config/stages.h"
#include "launcher/child.h"
#include "launcher/closing.h"
#include "launcher/environment.h"
#include "launcher/find.h"
#include "launcher/first.h"
#include "launcher/release.h"
#include "launcher/room.h"
#include "launcher/say.h"
#include "launcher/step_symbol.h"
#include "launcher/symbols/frames.h"
#include "launcher/tend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 20 /* another launcher may remove the empty directory just now */

struct run {
	struct config *config;
	char agent[PATH_MAX];
	char spool_dir[PATH_MAX]; /* where jobs have their folders */
	char page[PATH_MAX]; /* the job page, as PROF_JOB names it ... */
	char path[PATH_MAX]; /* ... and its path */
	char job[sizeof(job->id)];
	bool made_logdir;
	bool spool_named; /* by the user: so the log directory is not to blame */
	bool refused; /* the command is not started */
};

/* Uses the working directory as it is now: the program may change its own, and the
 * finisher works in "/". Leading "./" are left out, as the user is shown the path. */
static int make_absolute(char *path, size_t size)
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
	return make_absolute(c->logdir, sizeof(c->logdir));
}

/* ---- before ---- */

static bool warn_unprofiled(const char *what, const char *why)
{
	say_warn("%s: %s: the program runs without being profiled", what, why);
	return false;
}

/* A launcher inside another job is a part of the program, and no user's command: it goes
 * on. */
static bool keeps_going(const struct config *c)
{
	const char *outer = getenv("PROF_JOB");

	return c->keep_going || (outer && *outer);
}

/* Tells the user, and starts nothing, rather than run for hours for nothing. */
static bool refuse_run(struct run *r, const char *what, int err)
{
	if (keeps_going(r->config))
		return warn_unprofiled(what, sys_error(err));
	say_warn(
		"%s: %s: no trace can be written, so the command was not started (%s names another directory, --keep-going starts it without being profiled)",
		what,
		err == -EFBIG ? "the limit on a file's size (ulimit -f) leaves no room"
			      : sys_error(err),
		r->spool_named ? "--spool" : "-o");
	r->refused = true;
	return false;
}

static bool prepare_logdir(struct run *r)
{
	struct config *c = r->config;
	int err = run_absolute(c);

	if (!err && strchr(c->spool, '/'))
		err = make_absolute(c->spool, sizeof(c->spool));
	if (err)
		return refuse_run(r, c->logdir, err);
	/* A log directory that was not there is removed again if nothing was written. */
	r->made_logdir = access(c->logdir, F_OK) != 0;
	for (unsigned i = 0; i < TRIES && (!i || err == -ENOENT); i++)
		err = sys_mkdirs(c->logdir, 0777);
	if (!err)
		err = room_try(c->logdir);
	return err ? refuse_run(r, c->logdir, err) : true;
}

/* Makes the page that all processes of this run share; made first, it also tells whether
 * the directory can be written. */
static bool prepare_job(struct run *r)
{
	struct config *c = r->config;
	const char *why;
	int err = place_spool(c, getenv("TMPDIR"), r->spool_dir, sizeof(r->spool_dir),
			      &why);
	size_t n;

	r->spool_named = strchr(c->spool, '/') != NULL;
	if (err)
		return refuse_run(r, c->logdir, err);
	if (!*r->spool_dir)
		say_note(
			"records are kept in memory (%s): they are lost when proflaunch itself is killed",
			why);
	/* All processes use the folder chosen here, whatever their TMPDIR says. */
	snprintf(c->spool, sizeof(c->spool), "%.1000s",
		 *r->spool_dir ? r->spool_dir : "memory");
	if (!*r->spool_dir)
		snprintf(r->spool_dir, sizeof(r->spool_dir), "%s/.proflaunch", c->logdir);
	clock_start(); /* for all processes of the job, the finisher among them */
	for (unsigned i = 0; i < TRIES && (!i || err == -ENOENT); i++)
		err = job_make(r->spool_dir, (uint32_t)getpid());
	if (err)
		return refuse_run(r, r->spool_dir, err);
	n = job_name(r->page, sizeof(r->page));
	if (n >= sizeof(r->page))
		return refuse_run(r, r->spool_dir, -ENAMETOOLONG);
	snprintf(r->spool_dir, sizeof(r->spool_dir), "%s", job_folder());
	snprintf(r->path, sizeof(r->path), "%.4000s/" JOB_PAGE, r->spool_dir);
	snprintf(r->job, sizeof(r->job), "%s", job->id);
	tend_start(&(struct tend){
		.config = c, .dir = r->spool_dir, .page = r->path, .job = r->job });
	return true;
}

/* Warns of an allocator inside the program that only the launcher can see; of others the
 * agent warns itself, wherever they come from. */
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
		return warn_unprofiled("libproflaunch.so",
				       "is neither beside proflaunch nor in ../lib");
	/* Both characters separate words of LD_PRELOAD, and the loader knows no
	 * quoting. */
	if (strpbrk(r->agent, " :"))
		return warn_unprofiled(
			r->agent, "a path with a blank or a colon cannot be preloaded");
	look_for_allocator(r->config, t->image);
	return true;
}

/* A marker that can never match is a mistake that the user can put right at once. */
static bool refuse_marker(const struct config *c, const struct target *t)
{
	const char *said;

	if (step_symbol_find(c, t, &said) != STEP_NOWHERE)
		return false;
	if (keeps_going(c))
		say_warn("--marker %s: no step will end", said);
	else
		say_warn(
			"--marker %s: no step would end, so the command was not started (--keep-going starts it)",
			said);
	return !keeps_going(c);
}

/* So that nothing is said of steps that it does not end. */
static void drop_marker(struct config *c)
{
	if (!stages_any(c) || !strcmp(c->marker, "auto"))
		return;
	say_warn("marker %s is not used: each stage has its own", c->marker);
	strcpy(c->marker, "auto");
}

/* ---- after ---- */

/* Reads the page by descriptor: the program may have cut the file short. */
static void look_at_page(struct closing *c)
{
	static struct job_page page;
	static struct tally programs;

	tend_read(&page, offsetof(struct job_page, slot));
	for (unsigned i = 0; i < ASIDE_KINDS; i++)
		c->aside[i] = atomic_load(&page.aside[i]);
	tally_join(&programs, &page.programs, TOTALS_EACH);
	c->programs = &programs;
	c->mute_torch = atomic_load(&page.told) & JOB_TOLD_MUTE_TORCH;
	c->inner = atomic_load(&page.inner);
	c->unrecorded = atomic_load(&page.unrecorded);
	c->confined = atomic_load(&page.confined);
}

/* Removes the folders that are empty. */
static void remove_empty(struct run *r)
{
	char own[PATH_MAX];

	rmdir(r->spool_dir);
	if (snprintf(own, sizeof(own), "%s/.proflaunch", r->config->logdir) <
	    (int)sizeof(own))
		rmdir(own);
	if (r->made_logdir)
		rmdir(r->config->logdir); /* only goes when nothing was written */
}

static void finish_run(struct run *r, double seconds, const struct summary *summary)
{
	int64_t ended_ns = sys_clock_ns(CLOCK_MONOTONIC);
	const struct totals *totals = tend_end();
	struct closing c = { .config = r->config,
			     .totals = totals,
			     .spool_dir = job_folder(),
			     .seconds = seconds,
			     .summary = summary,
			     .finisher_ns = tend_cpu_ns(),
			     .waited_ns = sys_clock_ns(CLOCK_MONOTONIC) - ended_ns };

	look_at_page(&c);
	remove_empty(r);
	if (totals)
		closing_say(&c);
}

/* ---- all of it ---- */

int run_main(struct args *a, char **env)
{
	static struct run r;
	static struct target t;
	struct child_others others = tend_others;
	char **child_env = env;
	struct summary summary = { .config = &a->config, .rows = a->limit };
	int64_t begin_ns;
	int status, err;

	r.config = &a->config;
	status = first_find(a, &t);
	if (status)
		return status;
	drop_marker(&a->config);
	if (refuse_marker(r.config, &t))
		return 2;
	if (prepare_agent(&r, &t) && prepare_logdir(&r) && prepare_job(&r)) {
		child_env = environment_make(env, r.config, r.agent, r.page);
		job_count_inner(getenv("PROF_JOB"));
	}
	if (r.refused) {
		remove_empty(&r);
		return 2;
	}
	if (!child_env)
		child_env = env;
	others.started = release_descriptors;
	summary.command = a->command;
	summary.since = sys_clock_ns(CLOCK_REALTIME);
	begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	err = child_run(&(struct child_command){ t.path, a->command, child_env, t.text,
						 r.config->outlive },
			&others, &status);
	if (job)
		finish_run(&r, (double)(sys_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9,
			   a->limit ? &summary : NULL);
	if (err) {
		say_warn("cannot start a process: %s", strerror(-err));
		return 126;
	}
	child_mimic(status);
}
