/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/recover.h"
#include "agent/core/place.h"
#include "launcher/refill.h"
#include "launcher/run.h"
#include "launcher/say.h"
#include "launcher/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_file(const char *path, void *arg)
{
	(void)arg;
	printf("%s\n", path);
	fflush(stdout);
}

static bool is_spool_dir(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return !strcmp(slash ? slash + 1 : dir, ".proflaunch");
}

/* Where spools of this log directory may lie: in it, or where `spool` says. */
static void sweep_logdir(struct sweep *s, const struct args *a, const char *dir)
{
	char inside[PATH_MAX], logdir[PATH_MAX], placed[PATH_MAX];
	struct config c = a->config;
	const char *why;

	s->logdir = NULL;
	if (is_spool_dir(dir)) {
		/* <logdir>/.proflaunch itself was named. */
		snprintf(logdir, sizeof(logdir), "%.*s", (int)(strrchr(dir, '/') - dir),
			 dir);
		s->logdir = logdir;
		sweep_dir(s, dir);
		sweep_pages(dir);
		s->logdir = NULL;
		return;
	}
	snprintf(inside, sizeof(inside), "%.4000s/.proflaunch", dir);
	s->logdir = dir;
	sweep_dir(s, inside);
	sweep_pages(inside);
	s->logdir = NULL;
	sweep_dir(s, dir);
	sweep_pages(dir);
	snprintf(c.logdir, sizeof(c.logdir), "%.1023s", dir);
	if (!place_spool(&c, getenv("TMPDIR"), placed, sizeof(placed), &why) && *placed &&
	    strcmp(placed, inside) && strcmp(placed, dir)) {
		sweep_dir(s, placed);
		sweep_pages(placed);
	}
}

/* Call stacks of finished files that are module and offset still. */
static void refill(struct refill *r, const char *dir)
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
	struct sweep s = { .file = print_file };

	if (strlen(dir) >= CONFIG_TEXT) {
		say_warn("%s: %s", name, strerror(ENAMETOOLONG));
		return 1;
	}
	sweep_logdir(&s, a, dir);
	refill(r, dir);
	if (s.made)
		say_note("%s: %s written", name, say_count(s.made, "trace file"));
	else if (!s.failed && !r->filled && !r->failed)
		say_note("%s: nothing to recover", name);
	return s.failed != 0;
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
		if (!r.filled && !r.failed)
			say_note("%s: nothing to recover", name);
	} else {
		say_warn("%s: %s", name, strerror(ENOTDIR));
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

	if (!a->operands)
		return recover_one(a, a->config.logdir);
	for (unsigned i = 0; i < a->operands; i++)
		status |= recover_one(a, a->operand[i]);
	return status;
}
