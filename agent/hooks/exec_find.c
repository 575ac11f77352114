/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file a call would run. This only guesses well: the C library looks again, and
 * what it finds is run.
 */
#include "agent/core/self.h"
#include "agent/hooks/exec.h"
#include "base/fmt.h"
#include "base/sys.h"
#include "base/unseen.h"
#include "config/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* A regular file that this user may execute, as execvp() looks for one. */
static bool may_run(const char *path)
{
	int saved = errno;
	struct sys_stat st;
	bool may = !sys_stat(path, &st) && S_ISREG(st.mode) && !access(path, X_OK);

	errno = saved;
	return may;
}

/* As execvp: the first one that may be run, wherever PATH says. */
static const char *look_up(struct exec_room *r, const char *name)
{
	const char *dirs = config_getenv(environ, "PATH");
	size_t len;

	for (dirs = dirs ? dirs : "/bin:/usr/bin";; dirs += len + 1) {
		len = strcspn(dirs, ":");
		if (fmt(r->path, sizeof(r->path), "%.*s%s%s", (int)len, dirs,
			len ? "/" : "", name) < sizeof(r->path) &&
		    may_run(r->path))
			return r->path;
		if (!dirs[len])
			return NULL;
	}
}

/* A spawned child may change its directory or its user before it looks. */
static bool is_unsure(const struct exec_call *c, const char *path)
{
	short flags = 0;

	if (c->actions && c->actions->__used && *path != '/')
		return true;
	if (c->attr)
		posix_spawnattr_getflags(c->attr, &flags);
	return flags & POSIX_SPAWN_RESETIDS &&
	       (getuid() != geteuid() || getgid() != getegid());
}

static bool is_name(const char *path)
{
	return path && *path && !strchr(path, '/');
}

/* The file that the call names; NULL: there is none, or we cannot say. */
static const char *find_path(struct exec_room *r, const struct exec_call *c)
{
	const char *path = c->kind == EXEC_FD ? "" : c->path;

	if (r && (c->kind == EXEC_NAME || c->kind == EXEC_SPAWN_NAME) && is_name(path))
		path = look_up(r, path);
	return path && c->kind >= EXEC_SPAWN && is_unsure(c, path) ? NULL : path;
}

struct looked {
	struct image *image;
	int dir;
	const char *path;
	int flags;
};

static int look_now(void *arg)
{
	const struct looked *l = arg;

	return aside_look(l->image, l->dir, l->path, l->flags);
}

/* Another thread, or a signal's handler, must not meet the descriptor of the file. A
 * child of vfork has a table of its own. */
static enum aside look_at(const struct looked *l)
{
	int why = self.pid == sys_pid() ? unseen_run(look_now, (void *)l)
					: look_now((void *)l);

	return why > 0 ? (enum aside)why : ASIDE_NO;
}

/* A name is known by the file that it leads to. */
static bool is_known(const struct exec_call *c, const char *path, enum aside *why)
{
	int flags = c->flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
	struct sys_stat st;

	return !sys_stat_at(c->dir, path, flags, &st) && S_ISREG(st.mode) &&
	       aside_known(&st, why);
}

static enum aside look_inside(const struct exec_call *c, bool *there)
{
	struct exec_room *r = sys_map(sizeof(*r));
	const char *path = r ? find_path(r, c) : NULL;
	enum aside why = ASIDE_NO;

	*there = path;
	if (path && !is_known(c, path, &why))
		why = look_at(&(struct looked){ &r->image, c->dir, path, c->flags });
	/* execvp gives a file that is text to the shell. */
	if (path && c->kind == EXEC_NAME && r->image.kind == IMAGE_TEXT)
		why = look_at(&(struct looked){ &r->image, AT_FDCWD, "/bin/sh", 0 });
	if (r)
		munmap(r, sizeof(*r));
	return why;
}

/* *there: the target is a file that we could look at. */
static enum aside find_program(const struct exec_call *c, bool *there)
{
	bool name = c->kind == EXEC_NAME || c->kind == EXEC_SPAWN_NAME;
	const char *path = find_path(NULL, c);
	int flags = c->flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
	enum aside why = ASIDE_NO;
	struct sys_stat st;

	if (name && is_name(c->path))
		return look_inside(c, there);
	*there = path && !sys_stat_at(c->dir, path, flags, &st) && S_ISREG(st.mode);
	if (!*there || aside_known(&st, &why))
		return why;
	return look_inside(c, there);
}

/* A name without a slash is looked for by the loader: we cannot say. */
static bool reads_agent(const struct exec_call *c, const struct exec_env *e)
{
	size_t n = e->word_length;
	char path[512];

	if (!e->word || !memchr(e->word, '/', n) || n >= sizeof(path))
		return true;
	memcpy(path, e->word, n);
	path[n] = '\0';
	return (c->kind >= EXEC_SPAWN && is_unsure(c, path)) || aside_reads(path);
}

/* A name, and what a spawned child is to run, is read here; other paths are not. */
static bool is_readable(const struct exec_call *c)
{
	struct exec_seen seen = { { 0 } };

	return c->kind < EXEC_NAME || exec_sees_text(&seen, c->path);
}

enum aside exec_find(const struct exec_call *c, const struct exec_env *e)
{
	enum aside why = ASIDE_NO;
	int saved = errno;
	bool there = false;

	if (is_readable(c))
		why = find_program(c, &there);

	if (there && !why && !reads_agent(c, e))
		why = ASIDE_UNREADABLE;
	errno = saved;
	return why;
}
