/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that mean the whole process: what is told of them, and that they are what the
 * kernel makes of them. */
#include "agent/hooks/hook.h"
#include "base/sys.h"
#include "base/sys_call.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int hook_test_prctl(int option, ...);
int hook_test_unshare(int flags);
int hook_test_mlockall(int flags);
int hook_test_setrlimit(int resource, const struct rlimit *limit);
int hook_test_prlimit(pid_t pid, int resource, const struct rlimit *to,
		      struct rlimit *old);
long hook_test_syscall(long number, ...);

/* What was told, in order: letters. */
static char told[100];
static uint64_t limit_told;

static void tell(char letter)
{
	told[strlen(told)] = letter;
	errno = 5;
}

static void alone(bool begins)
{
	tell(begins ? 'a' : 'A');
}

static bool confine(bool clock)
{
	tell(clock ? 'C' : 'c');
	return !clock;
}

static void unconfine(void)
{
	tell('u');
}

static bool lock(void)
{
	tell('l');
	return true;
}

static void locked(bool result, bool done, bool future)
{
	ck_assert(result);
	tell(done ? (future ? 'F' : 'd') : (future ? 'x' : 'f'));
}

static void limit(int resource, uint64_t bytes)
{
	tell(resource == RLIMIT_AS ? 'v' : 'd');
	limit_told = bytes;
}

static void setup(void)
{
	hook_start(&(struct hook_listener){ .alone = alone,
					    .confine = confine,
					    .unconfine = unconfine,
					    .lock = lock,
					    .locked = locked,
					    .limit = limit });
}

static struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
static const struct sock_fprog program = { 1, &allow };

START_TEST(a_filter_confines_and_a_question_does_not)
{
	ck_assert_int_eq(hook_test_prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(hook_test_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0),
			 -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(hook_test_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL),
			 -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_str_eq(told, "");
	errno = 77;
	ck_assert_int_eq(
		hook_test_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
	ck_assert_str_eq(told, "c");
	ck_assert_int_eq(
		hook_test_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), 0);
	ck_assert_int_eq(hook_test_syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
					   &program, 0, 0),
			 0);
	ck_assert_str_eq(told, "ccc");
	ck_assert_int_eq(errno, 77);
}
END_TEST

/* A filter that is none, flags that nobody knows: the process is as free as before. */
START_TEST(what_failed_is_taken_back)
{
	const struct sock_fprog none = { 0, NULL };

	ck_assert_int_eq(hook_test_prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	errno = 0;
	ck_assert_int_eq(
		hook_test_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none, 0, 0), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_str_eq(told, "cu");
	ck_assert_int_eq(hook_test_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1u << 30,
					   &program),
			 -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_str_eq(told, "cucu");
}
END_TEST

static void *wait_there(void *arg)
{
	char c;

	/* Filters of its own: those of another thread cannot be its. */
	if (hook_test_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		c = 'e';
	return read(*(int *)arg, &c, 1) ? NULL : arg;
}

/* The kernel answers with the thread that could not have it. */
START_TEST(what_one_thread_cannot_have_is_taken_back)
{
	int ends[2];
	pthread_t thread;
	long result;

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_there, ends), 0);
	while (strcmp(told, "c"))
		sched_yield();
	do
		result = hook_test_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					   SECCOMP_FILTER_FLAG_TSYNC, &program);
	while (!result && !sched_yield());
	ck_assert_int_gt(result, 0);
	ck_assert_int_eq(told[strlen(told) - 1], 'u');
	close(ends[1]);
	pthread_join(thread, NULL);
}
END_TEST

static char no_tls[2][8192]; /* its descriptor lies in the middle */

static int limit_itself(void *arg)
{
	const struct rlimit space = { RLIM_INFINITY, RLIM_INFINITY };

	(void)arg;
	hook_test_unshare(CLONE_FS);
	hook_test_mlockall(0); /* which fails */
	hook_test_setrlimit(RLIMIT_AS, &space);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	hook_test_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
	_exit(told[0]);
}

/* A browser's child that locks itself in shares its parent's memory and has no storage of
 * its own: who is told would take his parent's for his. */
START_TEST(a_child_without_thread_local_storage_tells_nobody)
{
	static char stack[65536] __attribute__((aligned(64)));
	int status;
	pid_t pid = clone(limit_itself, stack + sizeof(stack),
			  CLONE_VM | CLONE_VFORK | CLONE_SETTLS | SIGCHLD, NULL, NULL,
			  no_tls[1], NULL);

	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(told, "");
}
END_TEST

/* What takes the counter as well could not be taken back: it is asked for before. */
START_TEST(what_will_fail_takes_no_clock)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_TSC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog no_tsc = { sizeof(rows) / sizeof(*rows), rows };

	ck_assert_int_eq(hook_test_syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL),
			 -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &no_tsc), 0);
	ck_assert_int_eq(hook_test_prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(hook_test_prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0),
			 -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_str_eq(told, "");
}
END_TEST

/* The last moment for what is open: its end is a look at the counter. */
static bool leave_with_it(bool clock)
{
	_exit(!__builtin_ia32_rdtsc() ? 6 : clock ? 7 : 8);
}

/* The child ends before the call that would take its counter away. */
static const struct {
	long number, a, b;
} takes_the_clock[] = {
	{ SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV },
	{ SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT },
	{ SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0 },
};

START_TEST(what_takes_the_clock_says_so)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		hook_start(&(struct hook_listener){ .confine = leave_with_it });
		hook_test_syscall(takes_the_clock[_i].number, takes_the_clock[_i].a,
				  takes_the_clock[_i].b, 0, 0, 0);
		_exit(9);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	ck_assert_int_eq(hook_test_prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0), 0);
	ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(a_limit_is_told_as_it_is_and_errno_stays)
{
	struct rlimit to = { 1ul << 40, 1ul << 40 }, old, more = { 1ul << 41, 1ul << 41 };

	errno = 77;
	ck_assert_int_eq(hook_test_setrlimit(RLIMIT_AS, &to), 0);
	ck_assert_int_eq(errno, 77);
	ck_assert_str_eq(told, "v");
	ck_assert_uint_eq(limit_told, 1ul << 40);
	ck_assert_int_eq(hook_test_prlimit(getpid(), RLIMIT_DATA, &to, &old), 0);
	ck_assert_str_eq(told, "vd");
	ck_assert_int_eq(hook_test_prlimit(0, RLIMIT_DATA, NULL, &old), 0);
	ck_assert_int_eq(hook_test_setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 64, 64 }),
			 0);
	ck_assert_str_eq(told, "vd");
	if (geteuid())
		ck_assert_int_eq(hook_test_setrlimit(RLIMIT_AS, &more), -1);
	more.rlim_max = 1; /* less than what it limits */
	ck_assert_int_eq(hook_test_setrlimit(RLIMIT_AS, &more), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_str_eq(told, "vd");
}
END_TEST

START_TEST(another_processs_limit_is_its_own)
{
	struct rlimit to = { 1ul << 40, 1ul << 40 };
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	ck_assert_int_eq(hook_test_prlimit(pid, RLIMIT_AS, &to, NULL), 0);
	ck_assert_int_eq(hook_test_prlimit(pid, RLIMIT_DATA, &to, NULL), 0);
	ck_assert_str_eq(told, "");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(a_lock_that_fails_locks_nothing)
{
	ck_assert_int_eq(hook_test_mlockall(1 << 20 | MCL_FUTURE), -1);
	ck_assert_str_eq(told, "lx");
	ck_assert_int_eq(hook_test_syscall(SYS_mlockall, 1 << 20), -1);
	ck_assert_str_eq(told, "lxlf");
	if (!hook_test_mlockall(MCL_FUTURE | MCL_ONFAULT))
		ck_assert_str_eq(told, "lxlflF");
}
END_TEST

static uint64_t blocked_there;

static bool ask_blocked(void)
{
	sys_block_all_signals(&blocked_there);
	return true;
}

/* A handler that leaves by longjmp would leave all of it undone. */
START_TEST(no_handler_comes_between)
{
	uint64_t mask, before;

	sys_block_all_signals(&before);
	sys_restore_signals(before);
	hook_start(&(struct hook_listener){ .lock = ask_blocked, .locked = locked });
	hook_test_mlockall(0);
	ck_assert_uint_eq(blocked_there | 1ull << 8 | 1ull << 18, UINT64_MAX);
	sys_block_all_signals(&mask);
	sys_restore_signals(mask);
	ck_assert_uint_eq(mask, before);
}
END_TEST

START_TEST(one_thread_begins_and_ends_around_its_call)
{
	ck_assert_int_eq(hook_test_unshare(CLONE_FILES), 0);
	ck_assert_str_eq(told, "aA");
	ck_assert_int_eq(hook_test_syscall(SYS_setns, -1, 0), -1);
	ck_assert_str_eq(told, "aAaA");
}
END_TEST

#define DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH */

/* Ours go through the C library just as long as a thread hands its calls on. */
START_TEST(who_hands_calls_on_is_counted_once)
{
	char allows = 0;

	ck_assert_int_eq(hook_test_prctl(DISPATCH, 7, 0, 0, &allows), -1);
	ck_assert_ptr_null(sys_via);
	ck_assert_str_eq(told, "cu");
	if (hook_test_prctl(DISPATCH, 1, 0, 0, &allows))
		return; /* before Linux 5.11 */
	ck_assert_ptr_nonnull(sys_via);
	ck_assert_int_eq(hook_test_prctl(DISPATCH, 7, 0, 0, &allows), -1);
	ck_assert_ptr_nonnull(sys_via);
	ck_assert_int_eq(hook_test_prctl(DISPATCH, 1, 0, 0, &allows), 0);
	ck_assert_int_eq(hook_test_prctl(DISPATCH, 0, 0, 0, 0), 0);
	ck_assert_ptr_null(sys_via);
	ck_assert_int_eq(hook_test_prctl(DISPATCH, 0, 0, 0, 0), 0);
	ck_assert_ptr_null(sys_via);
}
END_TEST

START_TEST(every_error_is_errnos)
{
	ck_assert_int_eq(hook_test_syscall(100000), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(hook_test_syscall(SYS_close, -1), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(hook_test_prctl(-1, 0, 0, 0, 0), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(hook_test_syscall(SYS_getpid), getpid());
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("confine");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_filter_confines_and_a_question_does_not);
	tcase_add_test(tc, what_failed_is_taken_back);
	tcase_add_test(tc, what_one_thread_cannot_have_is_taken_back);
	tcase_add_test(tc, a_child_without_thread_local_storage_tells_nobody);
	tcase_add_test(tc, what_will_fail_takes_no_clock);
	tcase_add_loop_test(tc, what_takes_the_clock_says_so, 0,
			    sizeof(takes_the_clock) / sizeof(*takes_the_clock));
	tcase_add_test(tc, a_limit_is_told_as_it_is_and_errno_stays);
	tcase_add_test(tc, another_processs_limit_is_its_own);
	tcase_add_test(tc, a_lock_that_fails_locks_nothing);
	tcase_add_test(tc, no_handler_comes_between);
	tcase_add_test(tc, one_thread_begins_and_ends_around_its_call);
	tcase_add_test(tc, who_hands_calls_on_is_counted_once);
	tcase_add_test(tc, every_error_is_errnos);
	return unit_run(tc, "confine");
}
