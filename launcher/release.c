/* SPDX-License-Identifier: Apache-2.0 */
/* Closes the descriptors that the launcher inherited and does not need, once the command
 * runs. /proc/self/fd says which are open; without /proc numbers up to a bound are tried.
 * The launcher's own have O_CLOEXEC, by which the two kinds are told apart. Standard
 * input and output are replaced by /dev/null, not closed: the next file opened would take
 * their numbers. */
#include "launcher/release.h"
#include "base/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WITHOUT_PROC 1024 /* numbers tried without /proc */

/* Does a POSIX lock hang on it? Closing any descriptor of the file would end that
 * lock. */
static bool holds_lock(int fd)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return sys_read_file(path, text, sizeof(text)) > 0 && strstr(text, ": POSIX ");
}

static void release_one(int fd, int null)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags < 0 || (flags & FD_CLOEXEC) || fd == STDERR_FILENO || holds_lock(fd))
		return;
	if (fd > STDERR_FILENO)
		close(fd);
	else if (null >= 0)
		dup2(null, fd);
}

/* Closing does not disturb the reading, as numbers come in order. glibc's struct dirent64
 * is the kernel's linux_dirent64; its getdents64() came with 2.30, too late. */
static bool release_listed(int dir, int null)
{
	_Alignas(struct dirent64) char bytes[4096];
	long n;

	while ((n = syscall(SYS_getdents64, dir, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(bytes + at);

			if (*e->d_name >= '0' && *e->d_name <= '9')
				release_one(atoi(e->d_name), null);
			at += e->d_reclen;
		}
	}
	return n == 0;
}

/* A descriptor of a mere path: reading and writing fail, as with a closed one. The lowest
 * free number is taken first. */
void release_standard(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/", O_PATH | O_CLOEXEC);
}

void release_descriptors(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || !release_listed(dir, null))
		for (int fd = 0; fd < WITHOUT_PROC; fd++)
			release_one(fd, null);
	if (dir >= 0)
		close(dir);
	if (null >= 0)
		close(null);
}
