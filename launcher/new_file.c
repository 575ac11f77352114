/* SPDX-License-Identifier: Apache-2.0 */
/* Writes beside the path, and renames: nobody reads half a file, and what was there stays
 * until the new one is whole. */
#include "launcher/new_file.h"
#include "report/head.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool new_file_may_be(const char *path, bool trace, char *why, size_t size)
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
	else if (st.st_size && (trace ? head_is_trace_name(path) : head_is_trace(path)))
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

bool new_file_open(struct new_file *f, const char *path, char *why, size_t size)
{
	f->path = path;
	if (!new_file_may_be(path, f->trace, why, size))
		return false;
	if ((size_t)snprintf(f->part, sizeof(f->part), "%s.%d.part", path,
			     (int)getpid()) >= sizeof(f->part)) {
		snprintf(why, size, "%s: %s", path, strerror(ENAMETOOLONG));
		return false;
	}
	/* A file of that name is another's, or a link of another user's in /tmp. */
	f->out = fopen(f->part, "wxe");
	if (!f->out)
		snprintf(why, size, "%s: cannot be written: %s",
			 errno == EEXIST ? f->part : path, strerror(errno));
	return f->out != NULL;
}

bool new_file_keep(struct new_file *f, char *why, size_t size)
{
	bool fine = !ferror(f->out);

	fine &= !fclose(f->out);
	if (fine && !new_file_may_be(f->path, f->trace, why, size)) {
		unlink(f->part);
		return false;
	}
	if (fine && !rename(f->part, f->path))
		return true;
	snprintf(why, size, "%s: cannot be written: %s", f->path, strerror(errno));
	unlink(f->part);
	return false;
}

void new_file_drop(struct new_file *f)
{
	fclose(f->out);
	unlink(f->part);
}
