/* SPDX-License-Identifier: Apache-2.0 */
/* Writes beside the path, and renames: nobody reads half a file, and what was there stays
 * until the new one is whole. */
#include "launcher/new_file.h"
#include "report/head.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A large file is read whole before it is known to be none: once is enough. */
static bool is_trace(const char *path, const struct stat *st)
{
	static struct stat none; /* the last file that was no trace */

	if (st->st_dev == none.st_dev && st->st_ino == none.st_ino &&
	    st->st_size == none.st_size && st->st_mtim.tv_sec == none.st_mtim.tv_sec &&
	    st->st_mtim.tv_nsec == none.st_mtim.tv_nsec)
		return false;
	if (head_is_trace(path))
		return true;
	none = *st;
	return false;
}

bool new_file_may_be(const char *path, char *why, size_t size)
{
	struct stat st;

	if (lstat(path, &st))
		return true;
	if (S_ISLNK(st.st_mode))
		snprintf(why, size,
			 "%s: is a link, which is not followed: name the file itself",
			 path);
	else if (!S_ISREG(st.st_mode))
		snprintf(why, size, "%s: is no file: name one, or leave -o out", path);
	else if (st.st_size && is_trace(path, &st))
		snprintf(why, size,
			 "%s: is a trace, which would be lost: name another file, or "
			 "remove it first",
			 path);
	else
		return true;
	return false;
}

bool new_file_is(const char *path, const char *other)
{
	struct stat a, b;

	return !lstat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

mode_t new_file_as(const char *source)
{
	struct stat st;

	return stat(source, &st) || !S_ISREG(st.st_mode) ? 0666
							 : (st.st_mode & 0666) | 0600;
}

/* ---- a signal ---- */

static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE };
static struct sigaction before[sizeof(ends) / sizeof(*ends)];
static const char *removed; /* by a signal; NULL = nothing */

/* The signal does again what it did before, which is most often the process's end. */
static void remove_part(int sig)
{
	if (removed)
		unlink(removed);
	removed = NULL;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends[i] == sig)
			sigaction(sig, &before[i], NULL);
	raise(sig);
}

/* What is ignored, as under nohup, stays so. */
static void watch_signals(const char *part)
{
	struct sigaction act = { .sa_handler = remove_part };

	removed = part;
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		sigaction(ends[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(ends[i], &act, NULL);
	}
}

static void leave_signals(void)
{
	removed = NULL;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &before[i], NULL);
}

/* ---- the file ---- */

bool new_file_open(struct new_file *f, const char *path, mode_t most, char *why,
		   size_t size)
{
	struct stat st;

	f->path = path;
	if (!new_file_may_be(path, why, size))
		return false;
	if ((size_t)snprintf(f->part, sizeof(f->part), "%s.%d.part", path,
			     (int)getpid()) >= sizeof(f->part)) {
		snprintf(why, size, "%s: %s", path, strerror(ENAMETOOLONG));
		return false;
	}
	/* A file of that name is another's, or a link of another user's in /tmp. */
	f->out = fopen(f->part, "wxe");
	if (!f->out) {
		snprintf(why, size, "%s: cannot be written: %s",
			 errno == EEXIST ? f->part : path, strerror(errno));
		return false;
	}
	watch_signals(f->part);
	if (!fstat(fileno(f->out), &st) && st.st_mode & ~most & 0777)
		fchmod(fileno(f->out), st.st_mode & most);
	return true;
}

static bool move_part(struct new_file *f, char *why, size_t size)
{
	bool fine = !ferror(f->out);

	fine &= !fclose(f->out);
	if (fine && !new_file_may_be(f->path, why, size)) {
		unlink(f->part);
		return false;
	}
	if (fine && !rename(f->part, f->path))
		return true;
	snprintf(why, size, "%s: cannot be written: %s", f->path, strerror(errno));
	unlink(f->part);
	return false;
}

bool new_file_keep(struct new_file *f, char *why, size_t size)
{
	bool fine = move_part(f, why, size);

	leave_signals();
	return fine;
}

void new_file_drop(struct new_file *f)
{
	fclose(f->out);
	unlink(f->part);
	leave_signals();
}
