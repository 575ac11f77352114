/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys - the kernel as 0 / -errno, without what newer C libraries renamed.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   0 or a positive result, or -errno. The global errno is left alone.
 * Units    bytes, ns as named.
 */
#ifndef CORE_SYS_H
#define CORE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sys_stat {
	uint32_t mode, uid, gid;
	uint64_t size, ino, dev, blocks;
	int64_t mtime_ns;
};

int sys_open(const char *path, int flags, unsigned mode); /* O_CLOEXEC added */
int sys_close(int fd);
int sys_stat(const char *path, struct sys_stat *st); /* follows links */
int sys_fstat(int fd, struct sys_stat *st);
int sys_mkdirs(const char *path, unsigned mode); /* like mkdir -p */
ssize_t sys_read_file(const char *path, char *buf, size_t size); /* NUL-terminated */
int sys_write_all(int fd, const void *buf, size_t size); /* survives EINTR */
int sys_pwrite_all(int fd, const void *buf, size_t size, uint64_t at);
bool sys_may_grow(uint64_t size); /* a file of that size is below RLIMIT_FSIZE */
void *sys_map(size_t size); /* private, zeroed; NULL */
/* The same, of large pages where the kernel has some: for what is looked at all over. */
void *sys_map_large(size_t size);
/* Whole pages that will be written; others may be writing there already. -EFAULT: to
 * write to one of them is a SIGBUS (the disk has no room for what a file system needs
 * besides). */
int sys_touch(void *at, size_t size);
uint32_t sys_tid(void);
uint32_t sys_pid(void); /* asks the kernel each time */
uint64_t sys_start_time(uint32_t pid); /* /proc/pid/stat field 22; 0 = gone */
uint32_t sys_parent(uint32_t pid); /* 0 = unknown */
int sys_futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t ns);
void sys_futex_wake(_Atomic uint32_t *word);
void sys_host(char *buf, size_t size); /* host name, file-name safe */
bool sys_under_valgrind(void);
const char *sys_error(int err); /* text of -errno or errno */
/* Blocks every signal in the calling thread; restores with the saved mask. */
void sys_block_signals(uint64_t *saved);
void sys_restore_signals(uint64_t saved);

#endif
