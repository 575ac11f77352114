/* SPDX-License-Identifier: Apache-2.0 */
/* A path is walked name by name, each step by the descriptor of the one before it
 * (O_PATH, which needs no right to read). The kernel would follow each link on the
 * way; here a link is looked at first, and counts only where it is ours or root's, or
 * lies in a private directory (folder.h). Otherwise a user of the same machine could
 * have our files made where he likes, with our rights. */
#include "base/folder.h"
#include "base/fmt.h"
#include "base/sys_call.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define LINKS_MOST 40 /* as the kernel */
#define PROC_MAGIC 0x9fa0
#define LOOK       (O_PATH | O_NOFOLLOW)

struct walk {
	int fd; /* where it stands */
	unsigned mode, links;
	bool below;
	char rest[PATH_MAX];
};

int folder_file(int at, const char *name, int flags, unsigned mode)
{
	return (int)SYS_CALL(SYS_openat, at, name, flags | O_CLOEXEC, mode);
}

bool folder_is_private(const struct sys_stat *st)
{
	struct sys_stat top;

	if (st->mode & (S_IWGRP | S_IWOTH))
		return false;
	return !st->uid || st->uid == geteuid() ||
	       (!sys_stat("/", &top) && st->uid == top.uid);
}

static int make_directory(int at, const char *name, unsigned mode)
{
	int err = (int)SYS_CALL(SYS_mkdirat, at, name, mode);

	return err == -EEXIST ? 0 : err;
}

/* Goes on to the directory `fd`, or passes its error on: then the walk stays where it
 * was, to be closed. */
static int step_to(struct walk *w, int fd)
{
	if (fd < 0)
		return fd;
	sys_close(w->fd);
	w->fd = fd;
	return 0;
}

/* What links in /proc/self/fd say is no path: the kernel alone can follow them. */
static bool is_magic(int fd)
{
	struct statfs fs;

	return !SYS_CALL(SYS_fstatfs, fd, &fs) && fs.f_type == PROC_MAGIC;
}

/* The link is open itself (O_PATH | O_NOFOLLOW), so that what was judged and what is
 * read are the same. 0 when it may be followed. */
static int judge_link(const struct walk *w, int link)
{
	struct sys_stat st, here;
	int err = sys_fstat(link, &st);

	if (!err)
		err = sys_fstat(w->fd, &here);
	if (err)
		return err;
	if (!S_ISLNK(st.mode))
		return -ENOTDIR;
	if (w->below)
		return -ELOOP;
	return !st.uid || st.uid == geteuid() || folder_is_private(&here) ? 0 : -ELOOP;
}

/* The link's text goes before what is left of the path. */
static int splice_link(struct walk *w, int link, const char *behind)
{
	char text[PATH_MAX];
	int got = (int)SYS_CALL(SYS_readlinkat, link, "", text, sizeof(text) - 1);
	size_t left = strlen(behind), n = (size_t)got;

	if (got < 0)
		return got;
	if (n + 1 + left >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n + 1, behind, left + 1);
	memcpy(w->rest, text, n);
	w->rest[n] = '/';
	return n && text[0] == '/'
		       ? step_to(w, folder_file(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0))
		       : 0;
}

/* `name` is no directory: a link, perhaps. */
static int take_link(struct walk *w, const char *name, const char *behind)
{
	int link = folder_file(w->fd, name, LOOK, 0), err;

	if (link < 0)
		return link;
	err = judge_link(w, link);
	if (!err && ++w->links > LINKS_MOST)
		err = -ELOOP;
	if (!err && is_magic(w->fd)) {
		err = step_to(w, folder_file(w->fd, name, O_PATH | O_DIRECTORY, 0));
		memmove(w->rest, behind, strlen(behind) + 1);
	} else if (!err) {
		err = splice_link(w, link, behind);
	}
	sys_close(link);
	return err;
}

static int take_name(struct walk *w, const char *name, const char *behind)
{
	int fd;

	if (w->below && !strcmp(name, ".."))
		return -EINVAL;
	fd = folder_file(w->fd, name, LOOK | O_DIRECTORY, 0);
	/* The directory is opened after it was made, without following a link: another
	 * process may have been faster. */
	if (fd == -ENOENT && w->mode) {
		int err = make_directory(w->fd, name, w->mode);

		fd = err ? err : folder_file(w->fd, name, LOOK | O_DIRECTORY, 0);
	}
	if (fd == -ENOTDIR || fd == -ELOOP)
		return take_link(w, name, behind);
	if (fd >= 0)
		memmove(w->rest, behind, strlen(behind) + 1);
	return step_to(w, fd);
}

static int walk_all(struct walk *w)
{
	char name[NAME_MAX + 1];
	int err = 0;

	for (;;) {
		const char *at = w->rest + strspn(w->rest, "/");
		size_t len = strcspn(at, "/");

		if (err || !len)
			break;
		err = len > NAME_MAX ? -ENAMETOOLONG : 0;
		if (err)
			break;
		fmt(name, sizeof(name), "%.*s", (int)len, at);
		err = take_name(w, name, at + len);
	}
	if (!err)
		return w->fd;
	sys_close(w->fd);
	return err;
}

static int start_walk(struct walk *w, int at, const char *from, const char *path)
{
	if (fmt(w->rest, sizeof(w->rest), "%s", path) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	w->fd = folder_file(at, from, O_PATH | O_DIRECTORY, 0);
	return w->fd < 0 ? w->fd : walk_all(w);
}

int folder_open(const char *path, unsigned mode)
{
	struct walk w = { .mode = mode };

	return start_walk(&w, AT_FDCWD, *path == '/' ? "/" : ".", path);
}

int folder_below(int at, const char *path, unsigned mode)
{
	struct walk w = { .mode = mode, .below = true };

	return start_walk(&w, at, ".", path);
}
