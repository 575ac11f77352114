/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are opened in the middle of the program, and calls on a stack of our own. */
#include "base/own_thread.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "base/unseen.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static int calls;

static int open_and_close(void *arg)
{
	calls++;
	sys_close_from(0);
	*(int *)arg = sys_open("/dev/null", O_RDONLY, 0);
	errno = 4711;
	return 42;
}

static bool all_there(void)
{
	return fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0;
}

START_TEST(what_happens_there_is_not_seen_here)
{
	char link[8];
	int fd = -1, next = dup(0);

	close(next);
	errno = 7;
	ck_assert_int_eq(unseen_only(open_and_close, &fd), 42);
	ck_assert_int_eq(errno, 7);
	ck_assert_int_eq(fd, 0);
	ck_assert(all_there());
	ck_assert_int_eq(dup(0), next);
	/* It is counted no more: unshare would fail. */
	ck_assert_int_eq(sys_readlink("/proc/self/task", link, sizeof(link)), -EINVAL);
	ck_assert_int_eq(unshare(CLONE_THREAD), 0);
}
END_TEST

static int confine_meanwhile(void *arg)
{
	(void)arg;
	sys_confine();
	return 42;
}

/* By another thread's seccomp: the kernel's answers are all -EPERM from then on. */
START_TEST(who_is_confined_meanwhile_waits_no_longer)
{
	ck_assert_int_eq(unseen_only(confine_meanwhile, NULL), 42);
	sys_unconfine();
	ck_assert_int_eq(unseen_only(confine_meanwhile, NULL), 42);
}
END_TEST

static int open_one(void *arg)
{
	(void)arg;
	return sys_open("/dev/null", O_RDONLY, 0);
}

/* Each number is taken, and stays so. */
START_TEST(a_full_table_is_no_hindrance)
{
	struct rlimit few = { 64, 64 };
	int last;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((last = dup(0)) >= 0)
		;
	ck_assert_int_eq(open_one(NULL), -EMFILE);
	ck_assert_int_ge(unseen_only(open_one, NULL), 0);
	ck_assert(all_there());
	ck_assert_int_eq(open_one(NULL), -EMFILE);
}
END_TEST

static uint64_t blocked(void)
{
	uint64_t mask = 0;

	seam_kernel(SYS_rt_sigprocmask, (long[6]){ 0, 0, (long)&mask, 8 });
	return mask;
}

static size_t mapped_pages(void)
{
	char text[64] = "";

	sys_read_file("/proc/self/statm", text, sizeof(text));
	return strtoul(text, NULL, 10);
}

static int say_blocked(void *arg)
{
	*(uint64_t *)arg = blocked();
	return 7;
}

static bool still_there(long nr, const long a[6], long *result)
{
	static unsigned asked;

	(void)a;
	*result = 0;
	return nr == SYS_tgkill && asked++ < 3; /* the kernel counts it so long */
}

static unsigned yields;

static bool count_yields(long nr, const long a[6], long *result)
{
	yields += nr == SYS_sched_yield;
	return still_there(nr, a, result);
}

START_TEST(who_looks_unseen_is_left_as_it_was)
{
	uint64_t mask = 1ull << (10 - 1), before, there = 0;
	size_t pages;

	seam_kernel(SYS_rt_sigprocmask, (long[6]){ 0, (long)&mask, 0, 8 });
	before = blocked();
	errno = 4711;
	ck_assert_int_eq(unseen_only(say_blocked, &there), 7);
	ck_assert_uint_eq(there | 3ull << 31 | 1ull << 8 | 1ull << 18, UINT64_MAX);
	ck_assert_uint_eq(blocked(), before);
	pages = mapped_pages();
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(unseen_run(say_blocked, &there), 7);
	ck_assert_uint_lt(mapped_pages(), pages + 64);
	ck_assert_int_eq(errno, 4711);
	seam = count_yields;
	ck_assert_int_eq(unseen_only(say_blocked, &there), 7);
	ck_assert_uint_ge(yields, 3);
	seam = NULL;
	sys_confine();
	there = 0;
	ck_assert_int_eq(unseen_only(say_blocked, &there), -EPERM);
	ck_assert_int_eq(unseen_run(say_blocked, &there), -EPERM);
	ck_assert_uint_eq(there, 0);
}
END_TEST

static void forbid_tasks(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rows) / sizeof(*rows), rows };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static int set_errno(void *arg)
{
	(void)arg;
	errno = 4711;
	return 3;
}

/* At a limit of processes: the program's own table stays as it is. */
START_TEST(where_no_task_can_be_made_nothing_is_closed)
{
	char text[64];
	int fd = -1;

	forbid_tasks();
	ck_assert_int_eq(unseen_only(open_and_close, &fd), -EAGAIN);
	ck_assert_int_eq(calls, 0);
	ck_assert(all_there());
	/* What only reads does so here. */
	ck_assert_int_gt(unseen_read("/proc/self/comm", text, sizeof(text)), 0);
	errno = 7;
	ck_assert_int_eq(unseen_run(set_errno, NULL), 3);
	ck_assert_int_eq(errno, 7);
}
END_TEST

static _Atomic int looker, go_on;

static int wait_for_word(void *arg)
{
	atomic_store(&looker, *(int *)arg);
	while (!atomic_load(&go_on))
		syscall(SYS_sched_yield);
	return 0;
}

static void *look(void *arg)
{
	int tid = (int)sys_tid();

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	unseen_only(wait_for_word, &tid);
	for (;;)
		pause();
	return arg;
}

/* The task has the caller's memory: it is there until that has gone. */
START_TEST(who_is_cancelled_ends_behind_it)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, look, NULL), 0);
	while (!atomic_load(&looker))
		sched_yield();
	pthread_cancel(thread);
	for (int i = 0; i < 100; i++)
		sys_nap(1000000);
	ck_assert(!own_thread_gone((uint32_t)looker));
	atomic_store(&go_on, 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* ---- stacks ---- */

static ucontext_t back;
static size_t sum;

static void needs_room(void *arg)
{
	volatile char room[64 * 1024];

	memset((void *)room, 1, sizeof(room));
	for (size_t i = 0; i < sizeof(room); i++)
		*(size_t *)arg += (size_t)room[i];
	errno = 4711;
}

static void on_one_page(void)
{
	roomy_call(needs_room, &sum);
}

START_TEST(a_call_finds_room_on_a_stack_of_a_page)
{
	ucontext_t here;
	char *area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	ck_assert_int_eq(mprotect(area, 4096, PROT_NONE), 0);
	ck_assert_int_eq(getcontext(&here), 0);
	here.uc_stack.ss_sp = area + 4096;
	here.uc_stack.ss_size = 4096;
	here.uc_link = &back;
	makecontext(&here, on_one_page, 0);
	ck_assert_int_eq(swapcontext(&back, &here), 0);
	ck_assert_uint_eq(sum, 64 * 1024);
	ck_assert_int_eq(errno, 4711);
}
END_TEST

static int say_task(void *arg)
{
	*(uint32_t *)arg = sys_tid();
	return 0;
}

/* The end of a task would take back what the program has asked of a message queue. */
START_TEST(once_a_queue_is_watched_there_is_no_task)
{
	uint32_t task = 0;

	ck_assert_int_eq(unseen_run(say_task, &task), 0);
	ck_assert_uint_ne(task, sys_tid());
	unseen_never();
	ck_assert_int_eq(unseen_run(say_task, &task), 0);
	ck_assert_uint_eq(task, sys_tid());
	ck_assert_int_eq(unseen_only(say_task, &task), -EAGAIN);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unseen");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_test(tc, a_full_table_is_no_hindrance);
	tcase_add_test(tc, who_is_confined_meanwhile_waits_no_longer);
	tcase_add_test(tc, what_happens_there_is_not_seen_here);
	tcase_add_test(tc, who_looks_unseen_is_left_as_it_was);
	tcase_add_test(tc, where_no_task_can_be_made_nothing_is_closed);
	tcase_add_test(tc, who_is_cancelled_ends_behind_it);
	tcase_add_test(tc, once_a_queue_is_watched_there_is_no_task);
	tcase_add_test(tc, a_call_finds_room_on_a_stack_of_a_page);
	return unit_run(tc, "unseen");
}
