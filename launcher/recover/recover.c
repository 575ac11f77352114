/* SPDX-License-Identifier: Apache-2.0 */
/* A log directory is looked through in all places where records of its jobs may lie: in
 * its own .proflaunch, which may also be named itself, as a job's folder may be, and
 * where `spool` or $TMPDIR have put them. Then finished files whose call stacks have no
 * names yet get these. */
#include "launcher/recover/recover.h"
#include "base/sys.h"
#include "base/text.h"
#include "config/place.h"
#include "launcher/recover/commands.h"
#include "launcher/recover/refill.h"
#include "launcher/recover/salvage.h"
#include "launcher/say.h"
#include "launcher/symbols/symbolize.h"
#include "writer/symbols/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char output[PATH_MAX]; /* --output */

/* Prints on stdout, one path on a line and at once, as scripts read it. */
static void print_file(const char *path, void *arg)
{
	(void)arg;
	printf("%s\n", path);
	fflush(stdout);
}

static bool is_spool_dir(const char *dir)
{
	return !strcmp(text_base(dir), ".proflaunch");
}

/* The log directory: `dir` may be "<logdir>/.proflaunch", or the folder of a job in
 * it. */
static const char *logdir_of(const char *dir)
{
	static char logdir[PATH_MAX];
	char *slash;

	snprintf(logdir, sizeof(logdir), "%s", dir);
	if (is_spool_dir(logdir)) {
		*strrchr(logdir, '/') = '\0';
		return logdir;
	}
	slash = strrchr(logdir, '/');
	*slash = '\0';
	if (slash > logdir && is_spool_dir(logdir))
		*strrchr(logdir, '/') = '\0';
	else
		*slash = '/';
	return logdir;
}

/* Removes the folder above where this job's was the last in it. */
static void remove_above(const char *dir)
{
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "%.*s", (int)(strrchr(dir, '/') - dir), dir);
	if (is_spool_dir(above))
		rmdir(above);
}

/* Salvages the jobs of a log directory: they lie in it, or where `spool` says. */
static void salvage_jobs(struct salvage *s, const struct args *a, const char *dir)
{
	char inside[PATH_MAX], placed[PATH_MAX];
	struct config c = a->config;
	const char *why;

	snprintf(inside, sizeof(inside), "%.4000s/.proflaunch", dir);
	salvage_all(s, inside);
	rmdir(inside);
	salvage_job(s, dir); /* `dir` may be a job's folder itself */
	remove_above(dir);
	if (is_spool_dir(dir)) {
		salvage_all(s, dir);
		rmdir(dir);
	}
	/* A place outside may hold spools of other log directories: `only` takes this
	 * one's. */
	snprintf(c.logdir, sizeof(c.logdir), "%.1023s", dir);
	if (place_spool(&c, getenv("TMPDIR"), placed, sizeof(placed), &why) || !*placed ||
	    !strcmp(placed, inside) || !strcmp(placed, dir))
		return;
	s->only = dir;
	salvage_all(s, placed);
	s->only = NULL;
}

/* Names call stacks of finished files that are still module and offset. */
static void refill_stacks(struct refill *r, const char *dir)
{
	char children[PATH_MAX];

	refill_dir(r, dir);
	if (snprintf(children, sizeof(children), "%s/children", dir) <
	    (int)sizeof(children))
		refill_dir(r, children);
}

static int recover_dir(const struct args *a, const char *name, const char *dir,
		       struct refill *r)
{
	struct salvage s = { .file = print_file };

	if (strlen(dir) >= CONFIG_TEXT) {
		say_warn("%s: %s", name, strerror(ENAMETOOLONG));
		return 1;
	}
	s.logdir = a->output ? output : logdir_of(dir);
	salvage_jobs(&s, a, dir);
	refill_stacks(r, s.logdir);
	if (s.totals.made)
		say_note("%s: %s written", name, say_count(s.totals.made, "trace file"));
	else if (!s.totals.failed && !r->filled && !r->failed)
		say_note("%s: nothing to recover", name);
	return !commands_run(s.logdir, a->has_on_trace ? a->config.on_trace : NULL,
			     s.totals.commanded) ||
	       s.totals.failed;
}

static int recover_one(const struct args *a, const char *name)
{
	struct refill r = { 0 };
	char path[PATH_MAX];
	struct stat st;
	int status = 0;

	if (!realpath(name, path) || stat(path, &st) || access(path, R_OK)) {
		say_warn("%s: %s", name, strerror(errno));
		return 1;
	}
	if (S_ISDIR(st.st_mode)) {
		status = recover_dir(a, name, path, &r);
	} else if (refill_is_trace(path)) {
		refill_file(&r, path);
		if (a->has_on_trace)
			status = !commands_run_file(path, a->config.on_trace);
		else if (!r.filled && !r.failed)
			say_note("%s: nothing to recover", name);
	} else {
		say_warn(
			"%s: neither a log directory nor a trace file (these end in .pt.trace.json or .pt.trace.json.gz)",
			name);
		return 1;
	}
	if (r.filled)
		say_note("%s: call stacks of %s have names now", name,
			 say_count(r.filled, "trace file"));
	return status || r.failed;
}

int recover_main(struct args *a)
{
	int status = 0;

	symbols_ask = known_ask;
	if (a->output && (sys_mkdirs(a->output, 0777) || !realpath(a->output, output))) {
		say_warn("%s: %s", a->output, strerror(errno));
		return 1;
	}
	if (!a->operands)
		return recover_one(a, a->config.logdir);
	for (unsigned i = 0; i < a->operands; i++)
		status |= recover_one(a, a->operand[i]);
	return status;
}
