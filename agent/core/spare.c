/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/spare.h"
#include "agent/core/job.h"
#include "base/fmt.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A spare belongs to whoever gets this first; 0 = there is none. */
static uint64_t take_number(void)
{
	for (unsigned i = 0; i < JOB_SPARES; i++) {
		uint64_t ino = atomic_load(&job->spare[i]);

		if (ino && atomic_compare_exchange_strong(&job->spare[i], &ino, 0))
			return ino;
	}
	return 0;
}

/* A file that somebody still maps has a lock. Its size is the caller's to set. */
static bool is_as_new(int fd, uint64_t ino)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct sys_stat st;

	return !fcntl(fd, F_OFD_SETLK, &whole) && !sys_fstat(fd, &st) &&
	       S_ISREG(st.mode) && st.uid == geteuid() && st.ino == ino && !st.blocks &&
	       st.links == 1;
}

int spare_take(char *path, size_t room)
{
	uint64_t ino = job ? take_number() : 0;
	int fd;

	if (!ino ||
	    fmt(path, room, "%s/" SPARE_NAME, job_folder(), (unsigned long)ino) >= room)
		return -ENOENT;
	fd = sys_open_high(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd >= 0 && is_as_new(fd, ino))
		return fd;
	unlink(path); /* nobody else would come to it */
	if (fd >= 0)
		sys_close(fd);
	return -ENOENT;
}
