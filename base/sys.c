/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, threads, signals; files are in sys_file.c, processes in sys_identity.c. */
#include "base/fmt.h"
#include "base/sys_call.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

bool sys_confined, sys_no_maps, sys_scarce;
static uint32_t confined_pid;

void *sys_map(size_t size)
{
	int saved = errno;
	void *p = sys_confined || sys_no_maps ? MAP_FAILED
					      : mmap(NULL, size, PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

void sys_large(void *at, size_t size)
{
	SYS_CALL(SYS_madvise, at, size, MADV_HUGEPAGE);
}

/* A large page has to begin at a multiple of its size (2 MiB on x86-64): so much more
 * is mapped, and what lies before and behind goes back. */
void *sys_map_for_large(size_t size)
{
	size_t large = 2u << 20, before;
	char *p = sys_map(size + large);

	if (!p)
		return NULL;
	before = -(uintptr_t)p & (large - 1);
	if (before)
		SYS_CALL(SYS_munmap, p, before);
	SYS_CALL(SYS_munmap, p + before + size, large - before);
	return p + before;
}

void *sys_map_large(size_t size)
{
	void *p = sys_map_for_large(size);

	if (p)
		sys_large(p, size);
	return p;
}

/* -EFAULT comes from a page of a file for which the disk has no room: a store there
 * would be a SIGBUS. */
int sys_touch(void *at, size_t size)
{
	int err = (int)SYS_CALL(SYS_madvise, at, size, MADV_POPULATE_WRITE);

	if (err != -EINVAL)
		return err;
	/* Before Linux 5.14. A plain store could undo another thread's: add nothing. */
	for (size_t i = 0; i < size; i += 4096)
		__atomic_fetch_add((uint64_t *)((char *)at + i), 0, __ATOMIC_RELAXED);
	return 0;
}

/* Populating no bytes does nothing, where the kernel knows how to populate. */
bool sys_populates(void *at)
{
	return !SYS_CALL(SYS_madvise, at, 0, MADV_POPULATE_WRITE);
}

/* A call with a bad first argument: EFAULT where the set cannot be read, EINVAL where it
 * can. */
bool sys_can_read(const void *at)
{
	return SYS_CALL(SYS_rt_sigprocmask, -1, (uintptr_t)at & ~(uintptr_t)7, NULL,
			sizeof(uint64_t)) == -EINVAL;
}

bool sys_can_write(void *at)
{
	static _Atomic uint32_t nobody;

	return SYS_CALL(SYS_futex, &nobody, FUTEX_WAKE_OP_PRIVATE, 0, NULL, at,
			FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
}

/* Where glibc keeps a thread's id on x86-64; believed when it is right for one. */
#define TID_AT 0x2d0

static uint32_t read_noted_tid(void)
{
	return *(volatile uint32_t *)((char *)pthread_self() + TID_AT);
}

static bool tid_noted;

/* Pid and tid are asked for while that is still allowed: afterwards they come from
 * memory. A thread's id lies at an offset that is glibc's own matter, so that it
 * counts only where it is right for this thread. */
void sys_confine(void)
{
	confined_pid = sys_pid();
	tid_noted = read_noted_tid() == sys_tid();
	sys_confined = true;
}

void sys_unconfine(void)
{
	sys_confined = false;
}

uint32_t sys_tid(void)
{
	if (sys_confined)
		return tid_noted ? read_noted_tid() : 0;
	return (uint32_t)SYS_CALL(SYS_gettid);
}

uint32_t sys_pid(void)
{
	return sys_confined ? confined_pid : (uint32_t)SYS_CALL(SYS_getpid);
}

/* Without FUTEX_PRIVATE_FLAG the kernel finds the waiters by the page, so that other
 * processes reach them. */
int sys_futex_wait_all(_Atomic uint32_t *word, uint32_t seen, int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	return (int)SYS_CALL(SYS_futex, word, FUTEX_WAIT, seen, ns < 0 ? NULL : &t, NULL,
			     0);
}

void sys_futex_wake_all(_Atomic uint32_t *word)
{
	SYS_CALL(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int sys_futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	return (int)SYS_CALL(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen,
			     ns < 0 ? NULL : &t, NULL, 0);
}

void sys_futex_wake(_Atomic uint32_t *word)
{
	SYS_CALL(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void sys_nap(int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	SYS_CALL(SYS_nanosleep, &t, NULL);
}

/* What a file name could not hold, or a shell would not leave alone, becomes a dash. */
void sys_host(char *buf, size_t size)
{
	struct utsname name;
	size_t len = SYS_CALL(SYS_uname, &name) ? 0 : strlen(name.nodename);

	len = len < size ? len : size - 1;
	memcpy(buf, name.nodename, len);
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

#define UNCHANGED UINT64_MAX /* no mask: two signals cannot be blocked */

static void block_signals(uint64_t all, uint64_t *saved)
{
	if (SYS_CALL(SYS_rt_sigprocmask, SIG_SETMASK, &all, saved, sizeof(all)))
		*saved = UNCHANGED;
}

void sys_block_signals(uint64_t *saved)
{
	uint64_t cancel = 1ull << (32 - 1), setxid = 1ull << (33 - 1);

	block_signals(~(cancel | setxid), saved);
}

void sys_block_all_signals(uint64_t *saved)
{
	block_signals(UINT64_MAX, saved);
}

/* Another thread may have confined the program meanwhile: this one would stay blocked for
 * ever. */
void sys_restore_signals(uint64_t saved)
{
	if (saved != UNCHANGED)
		SYS_RAW(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(saved), 0,
			0);
}

/* This is how valgrind is asked; on a processor these instructions change nothing. */
static uint64_t ask_valgrind(uint64_t what, uint64_t first, uint64_t second)
{
	uint64_t question[6] = { what, first, second }, answer = 0;

	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(question)
			 : "cc", "memory");
	return answer;
}

bool sys_under_valgrind(void)
{
	return ask_valgrind(0x1001, 0, 0) != 0; /* RUNNING_ON_VALGRIND */
}

void sys_valgrind_written(const void *at, size_t size)
{
	ask_valgrind(0x4d430002, (uint64_t)at, size); /* memcheck's MAKE_MEM_DEFINED */
}
