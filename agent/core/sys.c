/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/sys.h"
#include "agent/core/fmt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* syscall() stores to errno, which is the program's: keep it. */
#define CALL(...)                               \
	({                                      \
		int saved_ = errno;             \
		long r_ = syscall(__VA_ARGS__); \
		if (r_ < 0)                     \
			r_ = -errno;            \
		errno = saved_;                 \
		r_;                             \
	})

int sys_open(const char *path, int flags, unsigned mode)
{
	return (int)CALL(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

int sys_close(int fd)
{
	return (int)CALL(SYS_close, fd);
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
		.mtime_ns = k->st_mtim.tv_sec * 1000000000 + k->st_mtim.tv_nsec,
	};
}

/* On x86-64 struct stat is the kernel's own. */
int sys_stat(const char *path, struct sys_stat *st)
{
	struct stat k;
	int err = (int)CALL(SYS_newfstatat, AT_FDCWD, path, &k, 0);

	if (!err)
		stat_copy(st, &k);
	return err;
}

int sys_fstat(int fd, struct sys_stat *st)
{
	struct stat k;
	int err = (int)CALL(SYS_newfstatat, fd, "", &k, AT_EMPTY_PATH);

	if (!err)
		stat_copy(st, &k);
	return err;
}

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
		err = (int)CALL(SYS_mkdirat, AT_FDCWD, part, mode);
		part[i] = c;
	}
	if (!err || err == -EEXIST)
		err = sys_stat(path, &st) ?: (S_ISDIR(st.mode) ? 0 : -ENOTDIR);
	return err;
}

ssize_t sys_read_file(const char *path, char *buf, size_t size)
{
	int fd = sys_open(path, O_RDONLY, 0);
	size_t n = 0;

	if (fd < 0)
		return fd;
	while (n + 1 < size) {
		ssize_t got = CALL(SYS_read, fd, buf + n, size - 1 - n);

		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	sys_close(fd);
	buf[n] = '\0';
	return (ssize_t)n;
}

int sys_write_all(int fd, const void *buf, size_t size)
{
	const char *p = buf;

	while (size) {
		long n = CALL(SYS_write, fd, p, size);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

int sys_pwrite_all(int fd, const void *buf, size_t size, uint64_t at)
{
	const char *p = buf;

	while (size) {
		long n = CALL(SYS_pwrite64, fd, p, size, at);

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

/* Beyond the limit the kernel would send SIGXFSZ: ask before writing. */
bool sys_may_grow(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || size <= limit.rlim_cur;
}

void *sys_map(size_t size)
{
	int saved = errno;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

void *sys_map_large(size_t size)
{
	size_t large = 2u << 20, before;
	char *p = sys_map(size + large);

	if (!p)
		return NULL;
	before = -(uintptr_t)p & (large - 1);
	if (before)
		CALL(SYS_munmap, p, before);
	CALL(SYS_munmap, p + before + size, large - before);
	CALL(SYS_madvise, p + before, size, MADV_HUGEPAGE);
	return p + before;
}

int sys_touch(void *at, size_t size)
{
	int err = (int)CALL(SYS_madvise, at, size, MADV_POPULATE_WRITE);

	if (err != -EINVAL)
		return err == -EFAULT ? err : 0;
	/* Before Linux 5.14. A plain store could undo another thread's: add nothing. */
	for (size_t i = 0; i < size; i += 4096)
		__atomic_fetch_add((uint64_t *)((char *)at + i), 0, __ATOMIC_RELAXED);
	return 0;
}

uint32_t sys_tid(void)
{
	return (uint32_t)CALL(SYS_gettid);
}

uint32_t sys_pid(void)
{
	return (uint32_t)CALL(SYS_getpid);
}

/* The text behind the command name, which may itself hold ')' and blanks. */
static const char *stat_fields(uint32_t pid, char *buf, size_t size)
{
	char path[64];
	const char *p;

	fmt(path, sizeof(path), "/proc/%u/stat", pid);
	if (sys_read_file(path, buf, size) <= 0)
		return NULL;
	p = strrchr(buf, ')');
	return p && p[1] ? p + 2 : NULL;
}

static uint64_t stat_number(uint32_t pid, unsigned field)
{
	char buf[1024];
	const char *p = stat_fields(pid, buf, sizeof(buf));
	uint64_t n = 0;

	for (unsigned at = 3; p && at < field; at++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	for (; p && *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n;
}

uint64_t sys_start_time(uint32_t pid)
{
	return stat_number(pid, 22);
}

uint32_t sys_parent(uint32_t pid)
{
	return (uint32_t)stat_number(pid, 4);
}

int sys_futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	return (int)CALL(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, ns < 0 ? NULL : &t,
			 NULL, 0);
}

void sys_futex_wake(_Atomic uint32_t *word)
{
	CALL(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void sys_host(char *buf, size_t size)
{
	ssize_t n = sys_read_file("/proc/sys/kernel/hostname", buf, size);
	size_t len = n > 0 ? strcspn(buf, "\n") : 0;

	buf[len] = '\0';
	for (size_t i = 0; i < len; i++) {
		char c = buf[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || c == '-' || c == '.'))
			buf[i] = '-';
	}
	if (!len)
		fmt(buf, size, "localhost");
}

const char *sys_error(int err)
{
	static const struct {
		int err;
		const char *text;
	} texts[] = {
		{ EPERM, "Operation not permitted" },
		{ ENOENT, "No such file or directory" },
		{ EIO, "Input/output error" },
		{ EBADF, "Bad file descriptor" },
		{ EAGAIN, "Resource temporarily unavailable" },
		{ ENOMEM, "Cannot allocate memory" },
		{ EACCES, "Permission denied" },
		{ EBUSY, "Device or resource busy" },
		{ EEXIST, "File exists" },
		{ ENODEV, "No such device" },
		{ ENOTDIR, "Not a directory" },
		{ EISDIR, "Is a directory" },
		{ EINVAL, "Invalid argument" },
		{ ENFILE, "Too many open files in system" },
		{ EMFILE, "Too many open files" },
		{ ETXTBSY, "Text file busy" },
		{ EFBIG, "File too large" },
		{ ENOSPC, "No space left on device" },
		{ EROFS, "Read-only file system" },
		{ EMLINK, "Too many links" },
		{ EPIPE, "Broken pipe" },
		{ ENAMETOOLONG, "File name too long" },
		{ ENOSYS, "Function not implemented" },
		{ ENOTEMPTY, "Directory not empty" },
		{ EXDEV, "Invalid cross-device link" },
		{ ELOOP, "Too many levels of symbolic links" },
		{ EOPNOTSUPP, "Operation not supported" },
		{ EDQUOT, "Disk quota exceeded" },
		{ ESTALE, "Stale file handle" },
		{ EOVERFLOW, "Value too large" },
	};

	/* strerror takes locks and reads catalogues; its lock-free kin is too new. */
	if (err < 0)
		err = -err;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].err == err)
			return texts[i].text;
	return "unexpected error";
}

void sys_block_signals(uint64_t *saved)
{
	uint64_t all = ~0ull;

	CALL(SYS_rt_sigprocmask, SIG_SETMASK, &all, saved, sizeof(all));
}

void sys_restore_signals(uint64_t saved)
{
	CALL(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(saved));
}

/* This is how it is asked for; on a processor these instructions change nothing. */
bool sys_under_valgrind(void)
{
	uint64_t question[6] = { 0x1001 }, answer = 0;

	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(question)
			 : "cc", "memory");
	return answer != 0;
}
