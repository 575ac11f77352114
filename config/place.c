/* SPDX-License-Identifier: Apache-2.0 */
/* A spool is a mapping that the program writes into. On a file system that another
 * machine or a daemon stands behind a store could wait for these, in the middle of the
 * program's own work, or end in a SIGBUS when they are gone: so the spools lie there
 * only if the user says so by name. */
#include "config/place.h"
#include "base/fmt.h"
#include "base/sys_call.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* File systems whose pages another machine or a daemon stands behind: a store to a
 * mapping could wait for them. The numbers are the kernel's (statfs(2)). */
static const uint32_t remote[] = {
	0x6969 /* nfs */,        0x517b /* smb */,        0xfe534d42 /* smb2 */,
	0xff534d42 /* cifs */,   0x5346414f /* afs */,    0x6b414653 /* kafs */,
	0x73757245 /* coda */,   0x564c /* ncp */,        0x01021997 /* 9p */,
	0x00c36400 /* ceph */,   0x47504653 /* gpfs */,   0x0bd00bd0 /* lustre */,
	0x65735546 /* fuse */,   0xaad7aaea /* panfs */,  0x19830326 /* beegfs */,
	0x7461636f /* ocfs2 */,  0x01161970 /* gfs2 */,   0x20030528 /* orangefs */,
	0x786f4256 /* vboxsf */, 0x00c0ffee /* hostfs */,
};

/* `path`, or the nearest directory above it, that exists; "." when no part of a relative
 * path does. */
static void nearest_existing(const char *path, char *buf, size_t size)
{
	struct sys_stat st;
	char *slash;

	fmt(buf, size, "%s", path);
	while (*buf && sys_stat(buf, &st)) {
		slash = strrchr(buf, '/');
		if (slash == buf)
			buf[1] = '\0';
		else if (slash)
			*slash = '\0';
		else
			fmt(buf, size, ".");
		if (!strcmp(buf, "/") || !strcmp(buf, "."))
			break;
	}
}

bool place_is_local(const char *path)
{
	char there[PATH_MAX];
	struct statfs fs;

	nearest_existing(path, there, sizeof(there));
	if (SYS_CALL(SYS_statfs, there, &fs))
		return false;
	for (size_t i = 0; i < sizeof(remote) / sizeof(*remote); i++)
		if ((uint32_t)fs.f_type == remote[i])
			return false;
	return true;
}

/* /dev/shm is small in containers, and DataLoaders need all of it. */
static bool is_shm(const char *path)
{
	char there[PATH_MAX];
	struct sys_stat shm, st;

	nearest_existing(path, there, sizeof(there));
	return !sys_stat("/dev/shm", &shm) && !sys_stat("/dev", &st) &&
	       shm.dev != st.dev && !sys_stat(there, &st) && st.dev == shm.dev;
}

/* $TMPDIR belongs to all: ours is a directory below it that nobody else can write. */
static int make_private(const char *tmp, char *dir, size_t size)
{
	int err;

	if (fmt(dir, size, "%s/proflaunch-%u", tmp, (unsigned)geteuid()) >= size)
		return -ENAMETOOLONG;
	err = sys_mkdir(dir, 0700);
	/* Another user may have made it first: a link there (O_NOFOLLOW), or a directory
	 * that another user owns or may write, is refused. The descriptor is asked, not
	 * the name, which may mean something else at the next moment. */
	if (!err || err == -EEXIST) {
		int fd = sys_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		struct sys_stat own;

		err = fd < 0 ? fd : sys_fstat(fd, &own);
		if (fd >= 0)
			sys_close(fd);
		if (!err && (own.uid != geteuid() || own.mode & (S_IWGRP | S_IWOTH)))
			err = -EPERM;
	}
	return err;
}

int place_spool(const struct config *cfg, const char *tmp, char *dir, size_t size,
		const char **why)
{
	*dir = '\0';
	if (!strcmp(cfg->spool, "memory")) {
		*why = "spool = memory";
		return 0;
	}
	if (strcmp(cfg->spool, "auto")) {
		*why = "spool names it";
		return fmt(dir, size, "%s", cfg->spool) < size ? 0 : -ENAMETOOLONG;
	}
	if (fmt(dir, size, "%s/.proflaunch", cfg->logdir) >= size)
		return -ENAMETOOLONG;
	*why = "the log directory is on a file system of this machine";
	if (place_is_local(cfg->logdir) && !is_shm(cfg->logdir))
		return 0;
	if (!tmp || !*tmp)
		tmp = "/tmp";
	*why = "the log directory is on a network file system or in /dev/shm";
	if (place_is_local(tmp) && !is_shm(tmp) && !make_private(tmp, dir, size))
		return 0;
	*dir = '\0';
	*why = "neither the log directory nor $TMPDIR is on a disk of this machine";
	return 0;
}
