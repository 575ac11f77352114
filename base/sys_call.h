/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys_call - a system call as 0 / -errno: what sys.h is made of, and hooks of such calls.
 *
 * Threads  any.  Memory  none.  Errors  -EPERM once the program has confined itself.
 * Units    none.
 */
#ifndef BASE_SYS_CALL_H
#define BASE_SYS_CALL_H

#include "base/sys.h"

#include <errno.h>
#include <sys/syscall.h>

/* The C library's syscall(), where only the library's own code may ask the kernel; else
 * NULL. */
extern long (*sys_via)(long number, ...);
/* The kernel asked without errno: 0 or more, or -errno. */
long sys_raw(long number, long a, long b, long c, long d, long e, long f);

#define SYS_RAW(number, a, b, c, d, e, f, ...) \
	sys_raw(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define SYS_CALL(...) \
	(sys_confined ? -(long)EPERM : SYS_RAW(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0))

/* Newer than some headers. */
#define SYS_close_range_nr     436 /* Linux 5.9 */
#define CLOSE_RANGE_UNSHARE_nr 2

#endif
