/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be loaded from the stack. The main thread's ends where the program began, and
 * nothing else is mapped within its limit below; another thread's is the mapping below
 * its control block, which glibc puts on top of it, asked of the kernel once. Anything
 * else is a signal's or a coroutine's stack: of the first the kernel knows the bounds, of
 * the second the page that the stack pointer is in is all that is certain.
 */
#include "agent/core/sys.h"
#include "agent/hooks/unwind_parts.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE       4096ull
#define MAIN_LEAST (128ull << 20) /* the kernel leaves so much, whatever the limit */
#define MAIN_MOST  (1ull << 36) /* an unlimited stack */

__thread struct unwind_bounds unwind_own __attribute__((tls_model("initial-exec")));

static struct unwind_bounds first; /* the main thread's */

void unwind_bounds_start(void)
{
	extern void *__libc_stack_end;
	struct rlimit limit;
	uint64_t size = MAIN_LEAST;

	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur > size)
		size = limit.rlim_cur < MAIN_MOST ? limit.rlim_cur : MAIN_MOST;
	first.end = (uintptr_t)__libc_stack_end;
	first.lo = first.end > size ? first.end - size : 0;
}

static bool inside(struct unwind_bounds b, uintptr_t at)
{
	return at - b.lo < b.end - b.lo;
}

/* Once for a thread. It may be on another stack now: then later calls find out. */
static void find_own(uintptr_t sp)
{
	uintptr_t self = (uintptr_t)pthread_self();
	struct unwind_mapping m;
	char line[128];

	if (inside(first, sp)) {
		unwind_own = first;
		return;
	}
	if (unwind_maps_find(self, &m, line, sizeof(line)) &&
	    (inside((struct unwind_bounds){ m.begin, self }, sp) ||
	     sys_tid() != sys_pid()))
		unwind_own = (struct unwind_bounds){ m.begin, self };
	else
		unwind_own = first;
}

static struct unwind_bounds foreign_bounds(uintptr_t sp)
{
	/* What lies below sp was a frame just now. */
	struct unwind_bounds b = { sp, ((sp - 1) | (PAGE - 1)) + 1 };
	int saved = errno;
	stack_t now;

	if (!syscall(SYS_sigaltstack, NULL, &now) && now.ss_flags & SS_ONSTACK)
		b = (struct unwind_bounds){ (uintptr_t)now.ss_sp,
					    (uintptr_t)now.ss_sp + now.ss_size };
	errno = saved;
	return b;
}

struct unwind_bounds unwind_bounds(uintptr_t sp, bool *foreign)
{
	if (!unwind_own.end && first.end)
		find_own(sp);
	*foreign = !inside(unwind_own, sp);
	return *foreign ? foreign_bounds(sp) : unwind_own;
}
