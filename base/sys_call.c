/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sys_call.h"
#include "base/tls.h"

long (*sys_via)(long number, ...);

static __attribute__((noinline)) long ask_via(long number, const long a[6])
{
	int saved = errno;
	long result = sys_via(number, a[0], a[1], a[2], a[3], a[4], a[5]);

	if (result == -1)
		result = -errno;
	errno = saved;
	return result;
}

/* errno is the program's, and lies where a task that the program made without the C
 * library has nothing: a child of clone with a descriptor of its own for thread-local
 * storage, as a browser makes it to lock itself in. */
long sys_raw(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	if (sys_via && tls_is_there())
		return ask_via(number, (long[]){ a, b, c, d, e, f });
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
