/* SPDX-License-Identifier: Apache-2.0 */
/* Where a thread's stack begins and ends, and how often the list of all mappings, which
 * grows with the number of threads, is read for that. */
#include "agent/unwind/maps.h"
#include "agent/unwind/rewalk.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define SIZE (256 * 1024)

static _Atomic unsigned opened, reads;
static bool old_kernel;
static long says = -ENOTTY;

static bool observe(long nr, const long a[6], long *result)
{
	if (seam_opens(nr, a, "/proc/self/maps"))
		atomic_fetch_add(&opened, 1);
	if (nr == SYS_read)
		atomic_fetch_add(&reads, 1);
	*result = says;
	return nr == SYS_ioctl && old_kernel;
}

/* The one who asks is on its own stack, at `sp`. */
static bool foreign;
static struct unwind_bounds bounds_at(uintptr_t sp)
{
	unwind_own = (struct unwind_bounds){ 0, 0 };
	atomic_store(&opened, 0);
	atomic_store(&reads, 0);
	return unwind_bounds(sp, &foreign);
}
#define BOUNDS_HERE bounds_at((uintptr_t)__builtin_frame_address(0))

static uintptr_t usable_begin(void)
{
	pthread_attr_t attr;
	void *begin;
	size_t size;

	ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attr), 0);
	ck_assert_int_eq(pthread_attr_getstack(&attr, &begin, &size), 0);
	pthread_attr_destroy(&attr);
	return (uintptr_t)begin;
}

static void in_thread(pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, attr, run, arg), 0);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
}

static void *is_noted(void *arg)
{
	struct unwind_bounds b = BOUNDS_HERE;

	(void)arg;
	ck_assert(!foreign);
	ck_assert_uint_eq(b.lo, usable_begin());
	ck_assert_uint_eq(b.end, (uintptr_t)pthread_self());
	ck_assert_uint_eq(opened, 0);
	return NULL;
}

static void setup(void)
{
	unwind_bounds_start();
	seam = observe;
}

static char *memory(void)
{
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

START_TEST(no_mapping_is_looked_at_for_threads_of_the_c_library)
{
	pthread_attr_t attr;

	BOUNDS_HERE;
	ck_assert(!foreign);
	ck_assert_uint_eq(opened, 0);
	in_thread(NULL, is_noted, NULL);
	in_thread(NULL, is_noted, NULL); /* a stack that was used before */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, SIZE);
	pthread_attr_setguardsize(&attr, 5 * 4096);
	in_thread(&attr, is_noted, NULL);
	pthread_attr_setguardsize(&attr, 0);
	in_thread(&attr, is_noted, NULL);
	pthread_attr_setstack(&attr, memory(), SIZE);
	in_thread(&attr, is_noted, NULL);
}
END_TEST

static void *wait_and_look(void *arg)
{
	static _Atomic unsigned wrong;
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	bool other;

	pthread_barrier_wait(arg);
	unwind_bounds(sp, &other);
	atomic_fetch_add(&wrong, other);
	pthread_barrier_wait(arg);
	ck_assert_uint_eq(wrong, 0);
	return NULL;
}

START_TEST(many_threads_read_no_list)
{
	enum { MANY = 300 };
	static pthread_t t[MANY];
	pthread_barrier_t all;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, SIZE);
	pthread_barrier_init(&all, NULL, MANY);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(pthread_create(&t[i], &attr, wait_and_look, &all), 0);
	for (unsigned i = 0; i < MANY; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(opened, 0);
}
END_TEST

static void *begins_at(void *arg)
{
	struct unwind_bounds b;

	for (unsigned i = 0; i < 2; i++) {
		old_kernel = i;
		b = BOUNDS_HERE;
		ck_assert(!foreign);
		ck_assert_uint_eq(b.lo, (uintptr_t)arg);
		ck_assert_uint_eq(b.end, (uintptr_t)pthread_self());
		ck_assert_uint_eq(opened, 1);
	}
	ck_assert_uint_ge(reads, 1);
	return NULL;
}

START_TEST(a_guard_of_the_programs_own_is_no_stack)
{
	pthread_attr_t attr;
	char *p = memory();

	ck_assert_int_eq(mprotect(p, 4096, PROT_NONE), 0);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, p, SIZE);
	in_thread(&attr, begins_at, p + 4096);
}
END_TEST

/* The note would lie on the next page, which nobody has promised. */
START_TEST(no_page_but_the_control_blocks_own_is_looked_at)
{
	pthread_attr_t attr;
	char *p = memory();

	mprotect(p, 4096, PROT_NONE);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, p + 4096, SIZE - 8192 + 0x400);
	in_thread(&attr, begins_at, p + 4096);
}
END_TEST

/* The words of the C library's, changed for one look. */
static void *lies(void *arg)
{
	uintptr_t self = (uintptr_t)pthread_self(), right[3];
	volatile uintptr_t *note = (uintptr_t *)(self + 0x690);
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0), lo;

	lo = right[0] = note[0];
	right[1] = note[1];
	right[2] = note[2];
	lo += right[2];
	ck_assert_uint_eq(lo, usable_begin());
	for (unsigned i = 0; i < 8; i++) {
		uintptr_t wrong[8][3] = {
			{ 0, right[1], right[2] },
			{ sp + 16, right[1], right[2] },
			{ right[0], right[1] + 3 * 4096, right[2] },
			{ right[0], right[1] - 4096, right[2] },
			{ right[0], UINTPTR_MAX, right[2] },
			{ right[0], right[1], right[1] },
			{ right[0], right[1], UINTPTR_MAX - 3 },
			{ right[0] + 1, right[1], right[2] },
		};
		struct unwind_bounds b;

		for (unsigned k = 0; k < 3; k++)
			note[k] = wrong[i][k];
		b = bounds_at(sp);
		for (unsigned k = 0; k < 3; k++)
			note[k] = right[k];
		ck_assert_uint_eq(opened, 1);
		ck_assert_uint_eq(b.lo, lo);
		ck_assert_uint_eq(b.end, self);
	}
	return arg;
}

START_TEST(a_note_that_cannot_be_is_not_believed)
{
	in_thread(NULL, lies, NULL);
}
END_TEST

static ucontext_t back, coroutine;

static void in_coroutine(void)
{
	struct unwind_bounds b = BOUNDS_HERE;

	ck_assert(foreign);
	ck_assert_uint_le(b.end - b.lo, 4096);
	ck_assert_uint_eq(unwind_own.end, (uintptr_t)pthread_self());
	ck_assert_uint_eq(unwind_own.lo, usable_begin());
}

static void *coroutine_first(void *arg)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = memory();
	coroutine.uc_stack.ss_size = SIZE;
	coroutine.uc_link = &back;
	makecontext(&coroutine, in_coroutine, 0);
	swapcontext(&back, &coroutine);
	return is_noted(arg);
}

static void on_other_stack(int sig)
{
	struct unwind_bounds b = BOUNDS_HERE;

	(void)sig;
	ck_assert(foreign);
	ck_assert_uint_eq(b.end - b.lo, SIZE);
	ck_assert_uint_eq(unwind_own.end, (uintptr_t)pthread_self());
}

static void *handler_first(void *arg)
{
	struct sigaction sa = { .sa_handler = on_other_stack, .sa_flags = SA_ONSTACK };
	stack_t ss = { .ss_sp = memory(), .ss_size = SIZE };

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	return is_noted(arg);
}

static void *fork_first(void *arg)
{
	int status, pid = fork();

	if (!pid) {
		bool mine = !(BOUNDS_HERE.lo - usable_begin()) && !foreign && !opened;

		_exit(mine ? 7 : 8);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	return arg;
}

START_TEST(whoever_comes_first_the_threads_stack_is_its_own)
{
	in_thread(NULL, coroutine_first, NULL);
	in_thread(NULL, handler_first, NULL);
	in_thread(NULL, fork_first, NULL);
}
END_TEST

START_TEST(where_nothing_is_mapped_nothing_is_found)
{
	struct unwind_mapping m = { 1, 2, 3, true };
	char *p = memory();

	for (unsigned i = 0; i < 2; i++) {
		old_kernel = i;
		mprotect(p, SIZE, PROT_READ);
		ck_assert(unwind_maps_bounds((uintptr_t)p + SIZE - 1, &m));
		ck_assert(m.readable && m.begin == (uintptr_t)p);
		mprotect(p, SIZE, PROT_WRITE);
		ck_assert(unwind_maps_bounds((uintptr_t)p, &m));
		ck_assert_uint_eq(m.end, (uintptr_t)p + SIZE);
		ck_assert(!unwind_maps_bounds(4096, &m));
	}
	old_kernel = true;
	says = -ENOENT; /* the kernel knows: no list is read */
	atomic_store(&reads, 0);
	ck_assert(!unwind_maps_bounds((uintptr_t)p, &m));
	ck_assert_uint_eq(reads, 0);
}
END_TEST

static void *look_confined(void *arg)
{
	BOUNDS_HERE;
	ck_assert_uint_eq(opened, 0);
	return arg;
}

/* The answer "it is forbidden" is none. */
START_TEST(after_seccomp_an_unknown_stack_is_foreign)
{
	struct unwind_mapping m;
	pthread_attr_t attr;
	char *p = memory();

	sys_confine();
	ck_assert(!unwind_maps_bounds((uintptr_t)p, &m));
	ck_assert(!unwind_maps_find((uintptr_t)p, &m, (char[128]){ 0 }, 128));
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, p, SIZE);
	in_thread(&attr, look_confined, NULL);
	ck_assert(foreign);
	in_thread(NULL, is_noted, NULL);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind bounds");

	unit_not_under_thread_sanitizer("signals wait there, and stacks are its own");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, no_mapping_is_looked_at_for_threads_of_the_c_library);
	tcase_add_test(tc, many_threads_read_no_list);
	tcase_add_test(tc, a_guard_of_the_programs_own_is_no_stack);
	tcase_add_test(tc, no_page_but_the_control_blocks_own_is_looked_at);
	tcase_add_test(tc, a_note_that_cannot_be_is_not_believed);
	tcase_add_test(tc, whoever_comes_first_the_threads_stack_is_its_own);
	tcase_add_test(tc, where_nothing_is_mapped_nothing_is_found);
	tcase_add_test(tc, after_seccomp_an_unknown_stack_is_foreign);
	return unit_run(tc, "unwind_bounds");
}
