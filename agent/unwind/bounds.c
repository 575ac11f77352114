/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be loaded from the stack. The main thread's ends where the program began, and
 * nothing else is mapped within its limit below; another thread's ends at its control
 * block, which glibc puts on top of it, and begins where glibc has noted; where nothing
 * is noted it is the mapping below the block, asked of the kernel once. Anything else is
 * a signal's or a coroutine's stack: of the first the kernel knows the bounds, of the
 * second the page that the stack pointer is in is all that is certain.
 */
#include "agent/unwind/bounds.h"
#include "agent/unwind/maps.h"
#include "base/sys.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
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

static bool lies_within(struct unwind_bounds b, uintptr_t at)
{
	return at - b.lo < b.end - b.lo;
}

/* The kernel loads the word, and compares it: so nothing is loaded that cannot be. */
static bool is_readable(uintptr_t at)
{
	int err = sys_futex_wait((_Atomic uint32_t *)at, (uint32_t)at, 0);

	return err == -EAGAIN || err == -ETIMEDOUT;
}

/* What glibc notes of the memory of a thread's stack: bytes from the control block's
 * begin, the same from 2.28 to 2.43. */
#define NOTED_AT 0x690
struct noted {
	uintptr_t begin, size, guard; /* the guard is the first part of it */
};

/*
 * Nothing is loaded outside of the page in which the control block begins: some programs
 * make blocks of their own, and smaller ones. The note is believed when what it tells of
 * holds the stack pointer and ends behind the block. Where there is no guard of glibc's,
 * the program may have one of its own, on memory that it gave: the kernel knows.
 */
static bool find_noted_stack(uintptr_t self, uintptr_t sp)
{
	struct noted n;

	if ((self & (PAGE - 1)) + NOTED_AT + sizeof(n) > PAGE || sp >= self)
		return false;
	memcpy(&n, (const void *)(self + NOTED_AT), sizeof(n));
	if (!n.begin || n.begin > sp || n.guard > sp - n.begin ||
	    n.size - (self - n.begin) - NOTED_AT > 2 * PAGE ||
	    (n.begin | n.guard) & (sizeof(uint32_t) - 1) ||
	    (!n.guard && !is_readable(n.begin)))
		return false;
	unwind_own = (struct unwind_bounds){ n.begin + n.guard, self };
	return true;
}

/* Called once for a thread, which may be on another stack just now: what is found are the
 * bounds of its own all the same, and `sp` does not lie in them. */
static void find_own(uintptr_t sp)
{
	uintptr_t self = (uintptr_t)pthread_self();
	struct unwind_mapping m;

	if (lies_within(first, sp)) {
		unwind_own = first;
		return;
	}
	if (find_noted_stack(self, sp))
		return;
	if (unwind_maps_bounds(self, &m) &&
	    (lies_within((struct unwind_bounds){ m.begin, self }, sp) ||
	     sys_tid() != sys_pid()))
		unwind_own = (struct unwind_bounds){ m.begin, self };
	else
		unwind_own = first;
}

static struct unwind_bounds guess_foreign_bounds(uintptr_t sp)
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
	*foreign = !lies_within(unwind_own, sp);
	return *foreign ? guess_foreign_bounds(sp) : unwind_own;
}
