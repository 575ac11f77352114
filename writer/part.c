/* SPDX-License-Identifier: Apache-2.0 */
/* The .part file of a trace: made anew, and locked as long as its writer lives. */
#include "writer/part.h"
#include "base/fmt.h"
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MOST 1000
#define TRIES      4

/* Does the name still stand for this file? */
static bool is_named(int dir, const char *part, int fd)
{
	struct sys_stat now, st;
	int there = folder_file(dir, part, O_PATH | O_NOFOLLOW, 0);
	bool same = there >= 0 && !sys_fstat(there, &now) && !sys_fstat(fd, &st) &&
		    now.ino == st.ino && now.dev == st.dev;

	if (there >= 0)
		sys_close(there);
	return same;
}

/* Returns 0; -EWOULDBLOCK: another descriptor has the lock; or another error, where the
 * file system has no locks. */
static int lock_file(int fd)
{
	int saved = errno, err = flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;

	errno = saved;
	return err;
}

/* Makes a new file and locks it. -EAGAIN: before it was locked another writer took it for
 * a dead one's. (Where there are no locks nobody can.) */
static int claim_name(int dir, const char *part)
{
	int fd = folder_file(dir, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);

	if (fd < 0)
		return fd;
	if (lock_file(fd) != -EWOULDBLOCK && is_named(dir, part, fd))
		return fd;
	sys_close(fd);
	return -EAGAIN;
}

/* Removes the file if a dead writer left it: a plain file of this user, whose lock nobody
 * holds. Returns whether it is gone. */
static bool remove_dead(int dir, const char *part)
{
	int fd = folder_file(dir, part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	struct sys_stat st;
	bool gone;

	if (fd < 0)
		return false;
	gone = !sys_fstat(fd, &st) && S_ISREG(st.mode) && st.uid == geteuid() &&
	       !lock_file(fd) && is_named(dir, part, fd) && !unlinkat(dir, part, 0);
	sys_close(fd);
	return gone;
}

int part_make(int dir, const char *name, char *part, size_t size)
{
	for (unsigned n = 1; n < NAMES_MOST; n++) {
		size_t len = n == 1 ? fmt(part, size, "%s.part", name)
				    : fmt(part, size, "%s.%u.part", name, n);
		int fd = -EAGAIN;

		if (len >= size)
			fd = -ENAMETOOLONG;
		for (unsigned i = 0; i < TRIES && fd == -EAGAIN; i++) {
			fd = claim_name(dir, part);
			if (fd == -EEXIST && remove_dead(dir, part))
				fd = -EAGAIN;
		}
		if (fd >= 0)
			return fd;
		if (fd != -EEXIST && fd != -EAGAIN) {
			part[0] = '\0';
			return fd;
		}
	}
	part[0] = '\0';
	return -EEXIST;
}
