/* SPDX-License-Identifier: Apache-2.0 */
/* Files and descriptors. */
#include "base/sys_call.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int sys_open_at(int dir, const char *path, int flags)
{
	return (int)SYS_CALL(SYS_openat, dir, path, flags | O_CLOEXEC, 0);
}

int sys_open(const char *path, int flags, unsigned mode)
{
	return (int)SYS_CALL(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

int sys_close(int fd)
{
	return (int)SYS_CALL(SYS_close, fd);
}

/* A program that has closed its standard descriptors opens what it needs there next:
 * were one of ours among them, the program would write its output into our file. */
int sys_above_standard(int fd)
{
	int high;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	high = (int)SYS_CALL(SYS_fcntl, fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	sys_close(fd);
	return high;
}

int sys_open_high(const char *path, int flags, unsigned mode)
{
	return sys_above_standard(sys_open(path, flags, mode));
}

static void stat_copy(struct sys_stat *st, const struct stat *k)
{
	*st = (struct sys_stat){
		.mode = k->st_mode,
		.uid = k->st_uid,
		.gid = k->st_gid,
		.size = (uint64_t)k->st_size,
		.ino = k->st_ino,
		.dev = k->st_dev,
		.blocks = (uint64_t)k->st_blocks,
		.links = (uint64_t)k->st_nlink,
		.mtime_ns = k->st_mtim.tv_sec * 1000000000 + k->st_mtim.tv_nsec,
		.ctime_ns = k->st_ctim.tv_sec * 1000000000 + k->st_ctim.tv_nsec,
	};
}

/* On x86-64 struct stat is the kernel's own. */
int sys_stat_at(int dir, const char *path, int flags, struct sys_stat *st)
{
	struct stat k;
	int err = (int)SYS_CALL(SYS_newfstatat, dir, path, &k, flags);

	if (!err)
		stat_copy(st, &k);
	return err;
}

int sys_stat(const char *path, struct sys_stat *st)
{
	return sys_stat_at(AT_FDCWD, path, 0, st);
}

int sys_fstat(int fd, struct sys_stat *st)
{
	return sys_stat_at(fd, "", AT_EMPTY_PATH, st);
}

/* A handler of the program's without SA_RESTART ends the call early, whatever we read. */
ssize_t sys_read(int fd, void *buf, size_t size)
{
	ssize_t n;

	do
		n = SYS_CALL(SYS_read, fd, buf, size);
	while (n == -EINTR);
	return n;
}

ssize_t sys_pread(int fd, void *buf, size_t size, uint64_t at)
{
	ssize_t n;

	do
		n = SYS_CALL(SYS_pread64, fd, buf, size, at);
	while (n == -EINTR);
	return n;
}

int sys_readlink(const char *path, char *buf, size_t size)
{
	return (int)SYS_CALL(SYS_readlinkat, AT_FDCWD, path, buf, size);
}

/* Without close_range(2) each number is tried, but not up to a limit of a million, as
 * containers have it: that takes long, and nobody has so many open. */
void sys_close_from(int first)
{
	struct rlimit limit;
	int most = 65536; /* before Linux 5.9 each number that may be open */

	if (!SYS_CALL(SYS_close_range_nr, first, ~0u, 0))
		return;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < (rlim_t)most)
		most = (int)limit.rlim_cur;
	for (int fd = first; fd < most; fd++)
		SYS_CALL(SYS_close, fd);
}

/* close_range does both at once since Linux 5.9: an empty table instead of a copy that
 * is closed. Without the closing, pipes of the program's would stay open as long as
 * our thread lives, and their readers would see no end. */
int sys_unshare_files(void)
{
	int err = (int)SYS_CALL(SYS_close_range_nr, 0, ~0u, CLOSE_RANGE_UNSHARE_nr);

	if (!err)
		return 0;
	err = (int)SYS_CALL(SYS_unshare, CLONE_FILES);
	if (!err)
		sys_close_from(0);
	return err;
}

int sys_mkdir(const char *path, unsigned mode)
{
	return (int)SYS_CALL(SYS_mkdirat, AT_FDCWD, path, mode);
}

/* Errors of parents do not count, for those may be there and not ours to make: the
 * last part's says whether all are there. */
int sys_mkdirs(const char *path, unsigned mode)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	struct sys_stat st;
	int err = 0;

	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		char c = part[i];

		part[i] = '\0';
		err = sys_mkdir(part, mode);
		part[i] = c;
	}
	if (!err || err == -EEXIST)
		err = sys_stat(path, &st) ?: (S_ISDIR(st.mode) ? 0 : -ENOTDIR);
	return err;
}

ssize_t sys_read_all(int fd, char *buf, size_t size)
{
	ssize_t got = 1;
	size_t n = 0;

	while (got > 0 && n + 1 < size) {
		got = sys_read(fd, buf + n, size - 1 - n);
		if (got > 0)
			n += (size_t)got;
	}
	buf[n] = '\0';
	return got < 0 ? got : (ssize_t)n;
}

ssize_t sys_read_file(const char *path, char *buf, size_t size)
{
	int fd = sys_open(path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? fd : sys_read_all(fd, buf, size);

	if (fd >= 0)
		sys_close(fd);
	return n;
}

/* `at` is of no use to write(2), which takes the three others alone. */
static int write_all(long call, int fd, const char *p, size_t size, uint64_t at)
{
	while (size) {
		long n = SYS_CALL(call, fd, p, size, at);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		p += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

int sys_write_all(int fd, const void *buf, size_t size)
{
	return write_all(SYS_write, fd, buf, size, 0);
}

int sys_pwrite_all(int fd, const void *buf, size_t size, uint64_t at)
{
	return write_all(SYS_pwrite64, fd, buf, size, at);
}

int sys_fallocate(int fd, uint64_t at, uint64_t size)
{
	return (int)SYS_CALL(SYS_fallocate, fd, 0, at, size);
}

/* Beyond the limit the kernel would send SIGXFSZ: ask before writing. */
bool sys_may_grow(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || size <= limit.rlim_cur;
}
