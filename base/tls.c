/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tls.h"

#include <stdint.h>
#include <sys/auxv.h>

#define MAY_READ_BASE 2 /* of AT_HWCAP2 */

/* The first word of thread-local storage is its own address. */
bool tls_is_there(void)
{
	static int readable = -1;
	uintptr_t base = 0, self;

	if (readable < 0)
		readable = (getauxval(AT_HWCAP2) & MAY_READ_BASE) != 0;
	if (readable)
		__asm__("rdfsbase %0" : "=r"(base));
	if (readable && !base)
		return false;
	__asm__("mov %%fs:0, %0" : "=r"(self));
	return self && (!readable || self == base);
}
