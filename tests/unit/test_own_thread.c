/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of ours: what they take, what they leave, and how many there are. */
#include "agent/core/thread.h"
#include "base/sys.h"
#include "tests/unit/own_thread_bench.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

static uintptr_t guard_there;
static char *stack_there;
static bool descriptors_there;
static char name_there[16];

static void look_there(void)
{
	char here;

	guard_there = guard_word;
	stack_there = &here;
	descriptors_there = seam_kernel(SYS_fcntl, (long[6]){ 0, 1 /* F_GETFD */ }) >= 0;
	pthread_getname_np(pthread_self(), name_there, sizeof(name_there));
}

static void setup(void)
{
	is_there = look_there;
	begin();
}

/* ---- signals ---- */

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	handled++;
}

/* A program of one thread that blocks a signal and waits for it: ours must not take it,
 * neither to die of it nor to run the handler. */
static int wait_for(int number)
{
	sigset_t set;
	int taken = 0;

	sigemptyset(&set);
	sigaddset(&set, number);
	setup();
	start(&one);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (kill(getpid(), number) || sigwait(&set, &taken))
		return 1;
	return taken != number || handled;
}

START_TEST(a_signal_of_the_program_is_for_the_program)
{
	static const int signals[] = {
		SIGUSR1, SIGTERM, SIGCHLD, SIGALRM, SIGINT, SIGPIPE
	};
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (_i % 2)
			signal(signals[_i / 2], handle);
		_exit(wait_for(signals[_i / 2]));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

static uint64_t blocked(void)
{
	uint64_t mask = 0;

	ck_assert_int_eq(seam_kernel(SYS_rt_sigprocmask,
				     (long[6]){ SIG_BLOCK, 0, (long)&mask, 8 }),
			 0);
	return mask;
}

/* setuid waits until each thread has taken 33, pthread_cancel needs 32. */
START_TEST(who_starts_it_is_left_as_it_was)
{
	uint64_t before, all;

	setup();
	before = blocked();
	guard_word = 0x1230;
	errno = 4711;
	start(&one);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(blocked(), before);
	ck_assert_uint_eq(guard_word, 0x1230);
	ck_assert_uint_eq(guard_there, GUARD_OURS);
	ck_assert_str_eq(name_there, "proflaunch");
	end(&one);
	sys_block_signals(&before);
	all = blocked();
	ck_assert_uint_eq(all & (3ull << 31), 0);
	ck_assert_uint_eq(all | 3ull << 31 | 1ull << (SIGKILL - 1) |
				  1ull << (SIGSTOP - 1),
			  UINT64_MAX);
	sys_restore_signals(before);
	ck_assert_uint_eq(blocked(), before);
}
END_TEST

/* ---- stacks and tables ---- */

static size_t at_address(const char *address, char rights[5])
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 &&
		    (unsigned long)address >= from && (unsigned long)address < to) {
			fclose(f);
			return to - from;
		}
	fclose(f);
	return 0;
}

START_TEST(a_stack_is_used_again_when_it_is_free)
{
	char rights[5] = "", *first;

	setup();
	start(&one);
	first = one.stack;
	ck_assert_ptr_nonnull(first);
	ck_assert(stack_there > first && stack_there < first + (2 << 20));
	ck_assert_uint_ge(at_address(first, rights), 4096);
	ck_assert_str_eq(rights, "---p"); /* what overruns it is a fault */
	start(&one); /* the first still runs on it */
	ck_assert_ptr_ne(one.stack, first);
	sem_post(&leave);
	end(&one);
	first = one.stack;
	start(&one);
	ck_assert_ptr_eq(one.stack, first);
	end(&one);
}
END_TEST

static bool forbid_tables(long nr, const long a[6], long *result)
{
	(void)a;
	*result = -EPERM;
	return nr == 436 /* close_range */ || nr == SYS_unshare;
}

START_TEST(a_table_of_its_own_or_nothing_is_run)
{
	setup();
	one.files = OWN_THREAD_FILES;
	start(&one);
	ck_assert(!descriptors_there);
	ck_assert(seam_kernel(SYS_fcntl, (long[6]){ 0, 1 }) >= 0);
	end(&one);
	start(&two);
	ck_assert(descriptors_there);
	end(&two);
	seam = forbid_tables;
	stack_there = NULL;
	ck_assert_int_eq(own_thread_start(&one, stay), -EPERM);
	while (!own_thread_gone(atomic_load(&one.last)))
		sched_yield();
	ck_assert_ptr_null(stack_there);
	/* Another time it may have one. */
	seam = NULL;
	start(&one);
	ck_assert(!descriptors_there);
	end(&one);
}
END_TEST

static long kept; /* the kernel still has it */

static bool keep_one(long nr, const long a[6], long *result)
{
	*result = 0;
	return nr == SYS_tgkill && a[1] == kept;
}

START_TEST(who_has_ended_is_there_until_the_kernel_says_so)
{
	setup();
	ck_assert(own_thread_left(&one));
	start(&one);
	ck_assert(!own_thread_left(&one));
	kept = atomic_load(&one.last);
	end(&one);
	while (!atomic_load(&one.ended_ns))
		sched_yield();
	seam = keep_one;
	atomic_store(&one.ended_ns, INT64_MAX);
	ck_assert(!own_thread_left(&one));
	start(&one); /* on another stack, and both have to leave */
	ck_assert_int_ne(atomic_load(&one.last), kept);
	end(&one);
	ck_assert(!own_thread_left(&one));
	seam = NULL;
	ck_assert(own_thread_left(&one));
	start(&one);
	kept = atomic_load(&one.last);
	end(&one);
	/* Long after, it is somebody else who has this number. */
	seam = keep_one;
	atomic_store(&one.ended_ns, 1);
	ck_assert(own_thread_left(&one));
	seam = NULL;
}
END_TEST

START_TEST(where_nothing_may_be_mapped_there_is_none)
{
	sys_no_maps = true;
	ck_assert_int_eq(own_thread_start(&one, stay), -EPERM);
	sys_no_maps = false;
	ck_assert_uint_eq(own_thread_others(), 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("own thread");

	unit_not_under_thread_sanitizer("it has threads of its own, and signals");
	tcase_add_loop_test(tc, a_signal_of_the_program_is_for_the_program, 0, 12);
	tcase_add_test(tc, who_starts_it_is_left_as_it_was);
	tcase_add_test(tc, a_stack_is_used_again_when_it_is_free);
	tcase_add_test(tc, a_table_of_its_own_or_nothing_is_run);
	tcase_add_test(tc, who_has_ended_is_there_until_the_kernel_says_so);
	tcase_add_test(tc, where_nothing_may_be_mapped_there_is_none);
	return unit_run(tc, "own thread");
}
