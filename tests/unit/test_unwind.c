/* SPDX-License-Identifier: Apache-2.0 */
/* Walks next to those of the compiler's own unwinder, from all kinds of frames. */
#include "tests/unit/unwind_look.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- frames of all kinds ---- */

#define KIND(name) static __attribute__((noinline)) int name(int depth, unsigned seed)
static int any(int depth, unsigned seed);

KIND(plain)
{
	return any(depth, seed) + 1;
}

KIND(framed)
{
	volatile const void *here = __builtin_frame_address(0); /* has one, then */

	return any(depth, seed) + (here != NULL);
}

KIND(large)
{
	volatile char room[5000];

	room[0] = 1;
	return any(depth, seed) + room[0];
}

KIND(dynamic)
{
	volatile char *room = alloca(seed % 333 + 1);

	room[0] = 1;
	return any(depth, seed) + room[0];
}

KIND(aligned)
{
	_Alignas(128) volatile char room[256];

	room[0] = 1;
	return any(depth, seed) + room[0];
}

KIND(aligned_dynamic)
{
	_Alignas(64) volatile char room[64];
	volatile char *more = alloca(seed % 77 + 1);

	more[0] = room[0] = 1;
	return any(depth, seed) + room[0] * more[0];
}

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	if (*x == 1 && *y == 2)
		look(0);
	return *x - *y;
}

KIND(many_registers)
{
	int a = compare(&depth, &depth), b = seed & 7, c = a ^ b, d = c * 3, e = d + a;

	return any(depth, seed * 7) + a + b + c * d * e;
}

KIND(tail)
{
	return any(depth, seed ^ 1);
}

KIND(through_libc)
{
	int two[] = { 1, 2 };

	(void)depth, (void)seed;
	qsort(two, 2, sizeof(int), compare);
	return two[0];
}

static int any(int depth, unsigned seed)
{
	static int (*const kinds[])(
		int, unsigned) = { plain,   framed,          large,          dynamic,
				   aligned, aligned_dynamic, many_registers, tail };
	unsigned next = seed * 1103515245 + 12345;

	if (depth <= 0)
		return seed % 5 ? look((int)seed) : through_libc(0, 0);
	return kinds[next >> 16 & 7](depth - 1, next) ^ 1;
}

START_TEST(walks_are_those_of_the_other_unwinder)
{
	start();
	for (unsigned seed = 0; seed < 3000; seed++) {
		any((int)(seed % 100), seed);
		agree(5);
	}
}
END_TEST

START_TEST(without_the_linkers_help_it_is_the_same)
{
	start();
	unwind_find_object = NULL;
	for (unsigned seed = 0; seed < 1000; seed++) {
		any((int)(seed % 60), seed);
		agree(5);
	}
}
END_TEST

/* ---- threads ---- */

/* More and fewer frames inside of the same callers, around where a stack is cut. */
static __attribute__((noinline)) int deeper(int depth)
{
	volatile int sum = 0;

	if (depth > 45)
		sum += look(depth);
	if (depth < 80)
		sum += deeper(depth + 1);
	if (depth > 45 && depth % 3)
		sum += look(depth);
	return sum;
}

START_TEST(a_recursion_up_and_down)
{
	start();
	deeper(0);
	deeper(10);
	agree(20);
}
END_TEST

static void *in_thread(void *arg)
{
	(void)arg;
	for (unsigned seed = 0; seed < 100; seed++) {
		any(4, seed);
		agree(5);
	}
	return NULL;
}

START_TEST(a_threads_stack_ends_where_it_began)
{
	pthread_attr_t attr;
	pthread_t t;
	size_t size = 64 * 1024;
	void *stack = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	start();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, size * UNIT_SECONDS / 60);
	pthread_create(&t, &attr, in_thread, NULL);
	pthread_join(t, NULL);
	pthread_attr_setstack(&attr, stack, 2 * size);
	pthread_create(&t, &attr, in_thread, NULL);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
	ck_assert_uint_eq(agreed, 300);
}
END_TEST

static void *fork_in_thread(void *arg)
{
	int status;
	pid_t pid = fork();

	(void)arg;
	if (!pid) {
		unwind_fork_child();
		in_thread(NULL);
		_exit(agreed == 100 ? 7 : 8);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	return NULL;
}

START_TEST(a_forked_child_goes_on_with_the_threads_stack)
{
	pthread_t t;

	start();
	pthread_create(&t, NULL, fork_in_thread, NULL);
	pthread_join(t, NULL);
}
END_TEST

/* ---- signals ---- */

static void handler(int sig)
{
	look(sig);
}

/* More than a page of its stack. */
static void large_handler(int sig)
{
	large(0, (unsigned)sig | 1);
}

static volatile unsigned spins;
static __attribute__((noinline)) int leaf(int n)
{
	spins += (unsigned)n;
	return n;
}

static __attribute__((noinline)) int interrupted(int depth)
{
	volatile int result = depth ? interrupted(depth - 1) : raise(SIGUSR1);

	return result;
}

START_TEST(a_handler_is_walked_through)
{
	struct sigaction sa = { .sa_handler = handler };

	start();
	sigaction(SIGUSR1, &sa, NULL);
	interrupted(10);
	agree(14);
}
END_TEST

/* Wherever a timer interrupts: inside of a function's first and last instructions, too.
 * Some places have rules that cannot be followed; then the walk ends and says so. */
static volatile unsigned ticks, whole;
static void on_tick(int sig)
{
	unsigned same = 1;

	look(sig);
	while (same < mine.depth && same < other.depth && mine.pc[same] == other.pc[same])
		same++;
	ck_assert(same == mine.depth);
	ck_assert(same == other.depth || mine.flags & STACK_ENDED);
	whole += same == other.depth;
	ticks++;
}

START_TEST(a_handler_is_walked_through_from_any_instruction)
{
	struct sigaction sa = { .sa_handler = on_tick };
	sigset_t set;

	start();
	sigaction(SIGUSR1, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (!fork()) { /* the ticking */
		for (int i = 0; i < 2000; i++) {
			kill(getppid(), SIGUSR1);
			usleep(100);
		}
		_exit(0);
	}
	for (unsigned seed = 0; waitpid(-1, NULL, WNOHANG) <= 0; seed++)
		for (int i = 0; i < 100; i++)
			leaf(i);
	ck_assert_uint_gt(ticks, 100);
	ck_assert_uint_ge(whole, ticks * 9 / 10);
}
END_TEST

START_TEST(from_a_signal_stack_back_to_the_threads)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	stack_t ss = { .ss_size = 64 * 1024 };

	start();
	ss.ss_sp = mmap(NULL, ss.ss_size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(sigaltstack(&ss, NULL), 0);
	sigaction(SIGUSR1, &sa, NULL);
	interrupted(10);
	agree(14);
	look(0);
	agree(5);
	sa.sa_handler = large_handler;
	sigaction(SIGUSR1, &sa, NULL);
	interrupted(10);
	agree(16);
}
END_TEST

/* ---- other stacks ---- */

static ucontext_t back, coroutine;

static void in_coroutine(void)
{
	for (int i = 0; i < 3; i++) {
		interrupted(i);
		look(0);
		swapcontext(&coroutine, &back);
	}
}

/* Every size of stack, so that its end comes anywhere in a page; the page after it is
 * not there. */
START_TEST(a_coroutines_stack_ends_the_walk)
{
	struct sigaction sa = { .sa_handler = handler };
	char *stack;

	start();
	sigaction(SIGUSR1, &sa, NULL);
	look(0);
	agree(5);
	for (size_t less = 0; less < 4096; less += 112) {
		stack = mmap(NULL, 1 << 17, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(stack + (1 << 16), 1 << 16, PROT_NONE);
		getcontext(&coroutine);
		coroutine.uc_stack.ss_sp = stack;
		coroutine.uc_stack.ss_size = (1 << 16) - less;
		coroutine.uc_link = &back;
		makecontext(&coroutine, in_coroutine, 0);
		for (int i = 0; i < 4; i++) {
			swapcontext(&back, &coroutine);
			ck_assert_uint_ge(mine.depth, 1);
			ck_assert_uint_le(mine.depth, other.depth);
			ck_assert_uint_eq(alike(), mine.depth);
			ck_assert(mine.flags || mine.depth == other.depth);
		}
		look(0);
		agree(5);
	}
}
END_TEST

static __attribute__((noinline)) void call_back(void)
{
	look(0);
}

START_TEST(code_made_at_run_time_ends_the_walk)
{
	/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at, code, sizeof(code));
	start();
	for (int i = 0; i < 3; i++) {
		((void (*)(void (*)(void)))at)(call_back);
		ck_assert_uint_eq(mine.flags, STACK_ENDED);
		ck_assert_uint_ge(mine.depth, 2);
		ck_assert_uint_le(mine.depth, 3);
		ck_assert_uint_eq(mine.pc[mine.depth - 1], (uintptr_t)at + 6);
		unwind_find_object = NULL;
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind");

	unit_not_under_thread_sanitizer("signals wait there, and stacks are its own");
	tcase_add_test(tc, walks_are_those_of_the_other_unwinder);
	tcase_add_test(tc, without_the_linkers_help_it_is_the_same);
	tcase_add_test(tc, a_threads_stack_ends_where_it_began);
	tcase_add_test(tc, a_forked_child_goes_on_with_the_threads_stack);
	tcase_add_test(tc, a_recursion_up_and_down);
	tcase_add_test(tc, a_handler_is_walked_through);
	tcase_add_test(tc, a_handler_is_walked_through_from_any_instruction);
	tcase_add_test(tc, from_a_signal_stack_back_to_the_threads);
	tcase_add_test(tc, a_coroutines_stack_ends_the_walk);
	tcase_add_test(tc, code_made_at_run_time_ends_the_walk);
	return unit_run(tc, "unwind");
}
