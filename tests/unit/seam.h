/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seam - what the kernel says, and when: all of base/sys.h goes through
 * sys_raw(), and the rest through syscall(), which are these here.
 *
 * Threads  `seam` is set while there is one, or asked for by all of them.
 * Memory   none.
 * Errors   what `seam` says.
 * Units    none.
 */
#ifndef TESTS_SEAM_H
#define TESTS_SEAM_H

#include "base/sys_call.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* True: *result (0 or more, or -errno) is the answer, and the kernel is not asked. */
typedef bool seam_fn(long nr, const long a[6], long *result);
static seam_fn *seam;

static inline long seam_kernel(long nr, const long a[6])
{
	register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4],
			  r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

long sys_raw(long number, long a, long b, long c, long d, long e, long f)
{
	long six[6] = { a, b, c, d, e, f }, result;

	if (!seam || !seam(number, six, &result))
		result = seam_kernel(number, six);
	return result;
}

/* It reads as many arguments as there may be, also where fewer were given. */
__attribute__((no_sanitize("address", "thread"))) long syscall(long nr, ...)
{
	long a[6], result;
	va_list args;

	va_start(args, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	result = sys_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (result > -4096 && result < 0) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

/* Descriptors that are open: what is not closed again is one more. */
static inline unsigned seam_open_files(void)
{
	unsigned n = 0;

	for (long fd = 0; fd < 256; fd++)
		n += seam_kernel(SYS_fcntl, (long[6]){ fd, 1 /* F_GETFD */ }) >= 0;
	return n;
}

/* Does this call open a file of that name? */
static inline bool seam_opens(long nr, const long a[6], const char *name)
{
	const char *path = (const char *)a[1];
	size_t n = strlen(name), len = nr == SYS_openat ? strlen(path) : 0;

	return len >= n && !strcmp(path + len - n, name);
}

/* A descriptor of a text that is as good as a file of it. */
static inline long seam_text(const char *text)
{
	long fd = seam_kernel(SYS_memfd_create, (long[6]){ (long)"text" });

	seam_kernel(SYS_pwrite64, (long[6]){ fd, (long)text, (long)strlen(text), 0 });
	return fd;
}

#endif
