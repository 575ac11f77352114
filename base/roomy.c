/* SPDX-License-Identifier: Apache-2.0 */
/* The stack pointer is moved to a map of its own for the time of one call, in
 * assembly: swapcontext would ask the kernel for the signal mask at each change, and
 * needs two contexts of a kilobyte on the stack that is too small. */
#include "base/roomy.h"
#include "base/sys.h"

#include <errno.h>
#include <sys/mman.h>

#define SIZE (128 * 1024)

/* rbx keeps the old stack pointer, for the callee has to restore that register. All
 * that the callee may change by the calling convention is said to be changed; `top` is
 * a multiple of a page, so that the callee finds the stack aligned as a call leaves
 * it. */
static void call_on(void *top, void (*fn)(void *), void *arg)
{
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[top], %%rsp\n\t"
			 "callq *%[fn]\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(arg)
			 : [top] "r"(top), [fn] "r"(fn)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11",
			   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
			   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
			   "xmm15", "memory", "cc");
}

void roomy_call(void (*fn)(void *arg), void *arg)
{
	char *stack = sys_map(SIZE);
	int saved;

	if (!stack) {
		fn(arg);
		return;
	}
	call_on(stack + SIZE, fn, arg);
	saved = errno;
	munmap(stack, SIZE);
	errno = saved;
}
