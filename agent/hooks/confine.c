/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that mean the whole process, or the thread that calls alone: while they run there
 * is no thread of ours, and after some of them we may ask the kernel for nothing more.
 * Programs that make them by instructions of their own are not seen.
 */
#include "agent/hooks/enter.h"
#include "agent/hooks/libc.h"
#include "base/sys_call.h"
#include "base/tls.h"
#include "base/unseen.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11 */

/* The kernel as the C library's syscall() has it. All of these are plain system calls,
 * so none of the real functions has to be found. */
static long ask_kernel(long number, long a, long b, long c, long d, long e, long f)
{
	long result = sys_raw(number, a, b, c, d, e, f);

	/* The kernel's errors are -1 to -4095. */
	if (result < 0 && result > -4096) {
		/* A child without thread-local storage has no errno that we could find.
		 */
		if (tls_is_there())
			errno = (int)-result;
		return -1;
	}
	return result;
}

/* What a call forbids the process: other system calls, or the processor's counter too. */
enum { FORBIDS_NOTHING, FORBIDS_CALLS, FORBIDS_CLOCK };

/* True: unconfine_us is to be called, should the call fail. */
static bool confine_us(int forbids)
{
	bool done;
	int saved;

	if (!forbids || !hook_to.confine || !tls_is_there())
		return false;
	saved = errno;
	done = hook_to.confine(forbids == FORBIDS_CLOCK);
	errno = saved;
	return done;
}

static void unconfine_us(void)
{
	int saved = errno;

	if (hook_to.unconfine)
		hook_to.unconfine();
	errno = saved;
}

/* Without the counter recording ends, and that cannot be taken back: so the kernel is
 * asked before whether the counter may go. While it is away no handler may come that
 * reads it. */
static bool may_take_counter(void)
{
	uint64_t mask;
	bool may;

	if (sys_confined)
		return true;
	sys_block_signals(&mask);
	may = !sys_raw(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0, 0);
	if (may)
		sys_raw(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0, 0);
	sys_restore_signals(mask);
	return may;
}

/* Strict mode is refused where there is a filter, and else never. In strict mode the
 * kernel takes the counter away as well. */
static int strict_forbids(void)
{
	return sys_raw(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) ? FORBIDS_NOTHING
								 : FORBIDS_CLOCK;
}

/* Without a filter the call only asks whether there are filters. */
static int filter_forbids(long filter)
{
	return filter ? FORBIDS_CALLS : FORBIDS_NOTHING;
}

static _Atomic uint32_t dispatched; /* threads that hand calls on, or are about to */
static _Atomic bool dispatch_confines; /* no filter does */
static __thread bool dispatches __attribute__((tls_model("initial-exec")));

/* A thread that hands system calls to a handler of its own allows one range of code to
 * make them: the C library's, if it wants to go on. Ours then ask by way of that. */
static void settle_via(void)
{
	uint32_t n;

	do {
		n = atomic_load(&dispatched);
		sys_via = n ? (long (*)(long, ...))hook_next("syscall") : NULL;
	} while (n != atomic_load(&dispatched));
}

static int dispatch_forbids(long on)
{
	if (!on)
		return FORBIDS_NOTHING;
	dispatched++;
	settle_via();
	return FORBIDS_CALLS;
}

/* The call has been made; `confined`: by it. The last thread that takes it back frees us,
 * unless a filter has come since. */
static void note_dispatch(bool on, bool failed, bool confined)
{
	bool was = dispatches;

	if (!failed)
		dispatches = on;
	/* Counted before the call, and once for a thread. */
	if (on ? failed || was : was && !failed) {
		dispatched--;
		settle_via();
	}
	if (confined && !failed)
		dispatch_confines = true;
	if (!dispatched && dispatch_confines &&
	    !sys_raw(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0)) {
		dispatch_confines = false;
		unconfine_us();
	}
}

static int prctl_forbids(const long a[6])
{
	if (a[0] == SET_DISPATCH)
		return dispatch_forbids(a[1]);
	if (a[0] == PR_SET_SECCOMP && a[1] == SECCOMP_MODE_FILTER)
		return filter_forbids(a[2]);
	if (a[0] == PR_SET_SECCOMP && a[1] == SECCOMP_MODE_STRICT)
		return strict_forbids();
	if (a[0] == PR_SET_TSC && a[1] == PR_TSC_SIGSEGV && may_take_counter())
		return FORBIDS_CLOCK;
	return FORBIDS_NOTHING;
}

static int seccomp_forbids(const long a[6])
{
	if (a[0] == SECCOMP_SET_MODE_FILTER)
		return filter_forbids(a[2]);
	if (a[0] == SECCOMP_SET_MODE_STRICT && !a[1] && !a[2])
		return strict_forbids();
	return FORBIDS_NOTHING;
}

/* For a filter for all threads the result may be the id of a thread that cannot have
 * it. */
static bool has_failed(long number, const long a[6], long result)
{
	return result < 0 ||
	       (result > 0 && number == SYS_seccomp && a[1] & SECCOMP_FILTER_FLAG_TSYNC &&
		!(a[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER));
}

/* What is certain to be forbidden is prepared for before the call, as nothing can be
 * asked for after it. */
static long call_confining(long number, const long a[6])
{
	bool undo =
		confine_us(number == SYS_prctl ? prctl_forbids(a) : seccomp_forbids(a));
	long result = ask_kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);

	if (undo && has_failed(number, a, result))
		unconfine_us();
	if (number == SYS_prctl && a[0] == SET_DISPATCH)
		note_dispatch(a[1], result != 0, undo);
	return result;
}

/* Makes the call while no thread of ours is there. */
static long call_alone(long number, long a, long b)
{
	bool tell = hook_to.alone && tls_is_there();
	long result;

	if (tell)
		hook_to.alone(true);
	result = ask_kernel(number, a, b, 0, 0, 0, 0);
	if (tell)
		hook_to.alone(false);
	return result;
}

/* The kernel runs no handler in the middle of the call, and none must come, and perhaps
 * leave by longjmp, in the middle of what we add to it. */
static long call_lock_all(long flags)
{
	uint64_t mask;
	long result;
	int saved;
	bool ours;

	if (!hook_to.lock || !tls_is_there())
		return ask_kernel(SYS_mlockall, flags, 0, 0, 0, 0, 0);
	saved = errno;
	sys_block_all_signals(&mask);
	ours = hook_to.lock();
	result = ask_kernel(SYS_mlockall, flags, 0, 0, 0, 0, 0);
	if (result && errno == ENOMEM && ours && hook_to.lock_less()) {
		errno = saved;
		result = ask_kernel(SYS_mlockall, flags, 0, 0, 0, 0, 0);
	}
	hook_to.locked(ours, !result, flags & MCL_FUTURE);
	sys_restore_signals(mask);
	return result;
}

/* Sets a limit, and tells the listener what the kernel has then. */
static long set_limit(long pid, long resource, const void *to, void *old)
{
	long result = ask_kernel(SYS_prlimit64, pid, resource, (long)to, (long)old, 0, 0);
	struct rlimit now;
	uint64_t mask;
	int saved;

	if (result || !to || !hook_to.limit ||
	    (resource != RLIMIT_AS && resource != RLIMIT_DATA) || !tls_is_there())
		return result;
	saved = errno;
	sys_block_all_signals(&mask);
	if (!ask_kernel(SYS_prlimit64, 0, resource, 0, (long)&now, 0, 0))
		hook_to.limit((int)resource, now.rlim_cur);
	sys_restore_signals(mask);
	errno = saved;
	return result;
}

int HOOK_EXPORT(unshare)(int flags)
{
	return (int)call_alone(SYS_unshare, flags, 0);
}

int HOOK_EXPORT(setns)(int fd, int type)
{
	return (int)call_alone(SYS_setns, fd, type);
}

int HOOK_EXPORT(mlockall)(int flags)
{
	return (int)call_lock_all(flags);
}

int HOOK_EXPORT(setrlimit)(enum __rlimit_resource resource, const struct rlimit *limit)
{
	return (int)set_limit(0, resource, limit, NULL);
}

/* On x86-64 both structures are one. */
int HOOK_EXPORT(setrlimit64)(enum __rlimit_resource resource,
			     const struct rlimit64 *limit)
{
	return HOOK_EXPORT(setrlimit)(resource, (const struct rlimit *)limit);
}

/* Limits of another process are no affair of ours. */
int HOOK_EXPORT(prlimit)(pid_t pid, enum __rlimit_resource resource,
			 const struct rlimit *to, struct rlimit *old)
{
	if (!pid || pid == getpid())
		return (int)set_limit(pid, resource, to, old);
	return (int)ask_kernel(SYS_prlimit64, pid, resource, (long)to, (long)old, 0, 0);
}

int HOOK_EXPORT(prlimit64)(pid_t pid, enum __rlimit_resource resource,
			   const struct rlimit64 *to, struct rlimit64 *old)
{
	return HOOK_EXPORT(prlimit)(pid, resource, (const struct rlimit *)to,
				    (struct rlimit *)old);
}

int HOOK_EXPORT(prctl)(int option, ...)
{
	va_list args;
	long a[6] = { option };

	va_start(args, option);
	for (unsigned i = 1; i < 5; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return (int)call_confining(SYS_prctl, a);
}

/* libseccomp and others make these calls without a function of the C library's for
 * them. */
long HOOK_EXPORT(syscall)(long number, ...)
{
	va_list args;
	long a[6];

	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	switch (number) {
	case SYS_seccomp:
	case SYS_prctl:
		return call_confining(number, a);
	case SYS_unshare:
	case SYS_setns:
		return call_alone(number, a[0], a[1]);
	case SYS_mlockall:
		return call_lock_all(a[0]);
	case SYS_mq_notify:
		unseen_never();
		break;
	}
	return ask_kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
