/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys - the kernel as 0 / -errno, without what newer C libraries renamed.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   0 or a positive result, or -errno. The global errno is left alone.
 * Units    bytes, ns as named.
 */
#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct sys_stat {
	uint32_t mode, uid, gid;
	uint64_t size, ino, dev, blocks, links;
	int64_t mtime_ns, ctime_ns;
};

/* The program has forbidden itself system calls, or is about to: from now on ours make
 * none and answer -EPERM, or what was known before. */
extern bool sys_confined;
void sys_confine(void);
void sys_unconfine(void); /* the call that would have confined it has failed */
extern bool sys_scarce; /* memory is limited: tables are small */
extern bool sys_no_maps; /* mappings would be locked: sys_map makes none */

int sys_open(const char *path, int flags, unsigned mode); /* O_CLOEXEC added */
/* The same with a descriptor above the three standard ones, whether these are open or
 * not. */
int sys_open_high(const char *path, int flags, unsigned mode);
int sys_above_standard(int fd); /* moves fd there; fd < 0 is passed on */
int sys_close(int fd);
int sys_stat(const char *path, struct sys_stat *st); /* follows links */
int sys_fstat(int fd, struct sys_stat *st);
int sys_readlink(const char *path, char *buf, size_t size); /* bytes; no NUL */
/* Gives the calling thread an empty descriptor table of its own. */
int sys_unshare_files(void);
void sys_close_from(int first); /* that one and all above it */
int sys_mkdir(const char *path, unsigned mode); /* umask counts; -EEXIST */
/* `flags` are AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH ("" is then the descriptor). */
int sys_stat_at(int dir, const char *path, int flags, struct sys_stat *st);
int sys_open_at(int dir, const char *path, int flags); /* O_CLOEXEC added */
/* No cancellation point, as read() is: of a thread that the program has cancelled nothing
 * may end in the middle of us. Begins again after EINTR. */
ssize_t sys_read(int fd, void *buf, size_t size);
ssize_t sys_pread(int fd, void *buf, size_t size, uint64_t at); /* may be short */
int sys_mkdirs(const char *path, unsigned mode); /* like mkdir -p */
/* Reads from where the descriptor stands to the end, or as far as there is room for it
 * and a NUL behind it. How many bytes that are; -errno when a read fails, whatever came
 * before. */
ssize_t sys_read_all(int fd, char *buf, size_t size);
/* The same by path; a file that cannot be opened leaves `buf` as it is. */
ssize_t sys_read_file(const char *path, char *buf, size_t size);
int sys_write_all(int fd, const void *buf, size_t size); /* survives EINTR */
int sys_pwrite_all(int fd, const void *buf, size_t size, uint64_t at);
int sys_fallocate(int fd, uint64_t at, uint64_t size); /* grows the file, too */
bool sys_may_grow(uint64_t size); /* a file of that size is below RLIMIT_FSIZE */
void *sys_map(size_t size); /* private, zeroed; NULL */
/* The same, of large pages where the kernel has some, for memory that is used all over;
 * or of pages that may become large later, from sys_large on. */
void *sys_map_large(size_t size);
void *sys_map_for_large(size_t size);
void sys_large(void *at, size_t size);
/* Populates whole pages that will be written; other threads may be writing there already.
 * -EFAULT: to write to one of them is a SIGBUS (the disk has no room for what a file
 * system needs besides); other errors: they are not to be written either. */
int sys_touch(void *at, size_t size);
/* Can pages of a file be populated, and a full disk be heard of by that (Linux 5.14)? */
bool sys_populates(void *at);
/* Are there eight bytes to be read at the word that holds `at`? The kernel looks, and
 * nothing changes; false where it may not be asked. */
bool sys_can_read(const void *at);
/* May the word of four bytes be written? The kernel adds nothing to it. */
bool sys_can_write(void *at);
uint32_t sys_tid(void);
uint32_t sys_pid(void); /* asks the kernel each time */
uint64_t sys_start_time(uint32_t pid); /* /proc/pid/stat field 22; 0 = gone */
/* Parent and start time from /proc/<pid>/stat (0: our own): 0, or -errno and zeros. */
int sys_identity(uint32_t pid, uint32_t *parent, uint64_t *start_time);
/* A field (3, the state, and more) of /proc/<pid>/stat, read into `text`; NULL = gone. */
const char *sys_process_field(uint32_t pid, unsigned n, char *text, size_t size);
/* Sleeps while *word is `seen`, for `ns` at most (below 0: for ever), or until a wake-up;
 * may return early. Returns 0, -EAGAIN (*word was not `seen`), -ETIMEDOUT or -EINTR. */
int sys_futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t ns);
void sys_futex_wake(_Atomic uint32_t *word); /* all that sleep there */
/* The same on a word that other processes map as well. */
int sys_futex_wait_all(_Atomic uint32_t *word, uint32_t seen, int64_t ns);
void sys_futex_wake_all(_Atomic uint32_t *word);
/* One of the kernel's clocks, in ns. */
static inline int64_t sys_clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
void sys_nap(int64_t ns); /* no cancellation point; a signal may end it */
void sys_host(char *buf, size_t size); /* host name, file-name safe */
bool sys_under_valgrind(void);
/* Valgrind takes these bytes for written from now on. */
void sys_valgrind_written(const void *at, size_t size);
const char *sys_error(int err); /* text of -errno or errno */
/* Blocks every signal in the calling thread but those that the C library sends to its
 * threads (setuid waits until each has taken its own); restores with the saved mask. */
void sys_block_signals(uint64_t *saved);
void sys_block_all_signals(uint64_t *saved); /* for a moment */
void sys_restore_signals(uint64_t saved);

#endif
