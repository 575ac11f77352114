/* SPDX-License-Identifier: Apache-2.0 */
/* Tries to write: rights, read-only mounts, quotas, attributes and a file size limit each
 * refuse in a way of their own. The try writes a page, not an empty file: on a full disk,
 * or with a full quota, there is room for a name. */
#include "launcher/room.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int room_try(const char *dir)
{
	static const char page[4096];
	char path[PATH_MAX];
	int err, fd;

	if (!sys_may_grow(sizeof(page)))
		return -EFBIG;
	/* The pid alone would not do: launchers of other machines may have the same, and
	 * so may one that died here. */
	snprintf(path, sizeof(path), "%.4000s/.proflaunch-try-%d-%llx", dir,
		 (int)getpid(), (unsigned long long)sys_clock_ns(CLOCK_REALTIME));
	/* O_EXCL, as other users may write into the directory. */
	fd = sys_open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return fd;
	err = sys_write_all(fd, page, sizeof(page));
	sys_close(fd);
	unlink(path);
	return err;
}

uint64_t room_memory(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);

	return pages * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
}

bool room_exceeded(const struct config *c)
{
	return c->buffer_mb > room_memory() &&
	       c->buffer_mb > strtoul(config_find("buffer_mb")->def, NULL, 10);
}
