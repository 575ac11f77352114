/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sys_call.h"

/* errno is the program's, and lies where a task that the program made without the C
 * library has nothing: a child of clone with a descriptor of its own for thread-local
 * storage, as a browser makes it to lock itself in. */
long sys_raw(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
