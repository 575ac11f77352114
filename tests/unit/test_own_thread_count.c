/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads a process has that are not ours, with /proc and without. */
#include "tests/unit/own_thread_bench.h"
#include "tests/unit/seam.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int create_error;

/* A limit of threads, as the C library tells it. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
							  const pthread_attr_t *attr,
							  void *(*run)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
			   void *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return create_error ? create_error : real(thread, attr, run, arg);
}

START_TEST(ours_are_counted_and_the_programs_are_the_others)
{
	begin();
	ck_assert_uint_eq(own_thread_others(), 1);
	ck_assert(!own_thread_alone());
	start(&one);
	start(&two);
	ck_assert_uint_eq(own_thread_others(), 1);
	sem_post(&leave); /* nobody says which of them takes it */
	end(&one);
	end(&two);
	/* Gone for us before it has gone for the kernel: never the other way round. */
	while (own_thread_others() > 1)
		sched_yield();
	ck_assert_uint_eq(own_thread_others(), 1);
	create_error = EAGAIN;
	ck_assert_int_eq(own_thread_start(&one, stay), -EAGAIN);
	ck_assert_uint_eq(own_thread_others(), 1);
}
END_TEST

START_TEST(a_child_has_none_of_them)
{
	int status;
	pid_t pid;

	begin();
	start(&one);
	pid = fork();
	if (!pid) {
		own_thread_forget();
		_exit(own_thread_others() != 1 || own_thread_alone());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* /proc says how many tasks there are in the links of a directory, and of the first one,
 * once it has left, that it has no program. */
static long links_said;
static bool first_has_left;

static bool say_tasks(long nr, const long a[6], long *result)
{
	if (nr == SYS_newfstatat && !strcmp((const char *)a[1], "/proc/self/task")) {
		*result = links_said < 0 ? links_said : seam_kernel(nr, a);
		if (links_said >= 0)
			((struct stat *)a[2])->st_nlink = (unsigned long)links_said;
		return true;
	}
	if (nr != SYS_readlinkat)
		return false;
	*result = first_has_left ? -ENOENT : 4;
	return true;
}

START_TEST(who_is_alone_need_not_stay)
{
	begin();
	start(&one);
	seam = say_tasks;
	links_said = 2 + 1; /* only ours */
	ck_assert(own_thread_alone());
	links_said = 2 + 2;
	ck_assert(!own_thread_alone());
	first_has_left = true;
	ck_assert(own_thread_alone());
	links_said = 2 + 3;
	ck_assert(!own_thread_alone());
	ck_assert_uint_eq(own_thread_others(), 2);
	/* Where it does not tell, nobody must stay, and others are there. */
	for (links_said = 1; links_said > -40; links_said -= 20) {
		ck_assert(own_thread_alone());
		ck_assert_uint_eq(own_thread_others(), 2);
	}
}
END_TEST

static void *outlive(void *arg)
{
	(void)arg;
	if (own_thread_alone())
		_exit(4);
	sem_post(&up);
	for (unsigned i = 0; i < 10000 && !own_thread_alone(); i++)
		usleep(1000);
	_exit(own_thread_alone() ? 0 : 5);
}

/* The first one leaves by pthread_exit, and stays as a zombie. */
START_TEST(without_proc_nobody_stays_behind_the_first)
{
	int status;
	pid_t pid;

	links_said = -ENOENT;
	seam = say_tasks;
	ck_assert(own_thread_alone()); /* not known yet */
	own_thread_look();
	ck_assert(!own_thread_alone());
	pid = fork();
	if (!pid) {
		pthread_t id;

		begin();
		own_thread_look();
		own_thread_forget(); /* of a fork's child */
		pthread_create(&id, NULL, outlive, NULL);
		sem_wait(&up);
		pthread_exit(NULL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Where /proc does not tell, the C library may: until there is a second thread. */
START_TEST(without_proc_the_first_thread_may_be_known)
{
	bool known = dlsym(RTLD_DEFAULT, "__libc_single_threaded");

	begin();
	own_thread_look(); /* /proc tells */
	seam = say_tasks;
	links_said = 1;
	ck_assert_uint_eq(own_thread_others(), 2);
	own_thread_look();
	ck_assert_uint_eq(own_thread_others(), known ? 1 : 2);
	links_said =
		2 + 3; /* it tells again, of threads that the library does not know */
	ck_assert_uint_eq(own_thread_others(), 3);
	links_said = 1;
	start(&one);
	ck_assert_uint_eq(own_thread_others(), 2);
	links_said = 2 + 2;
	ck_assert_uint_eq(own_thread_others(), 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("own_thread_count");

	tcase_add_test(tc, ours_are_counted_and_the_programs_are_the_others);
	tcase_add_test(tc, a_child_has_none_of_them);
	tcase_add_test(tc, who_is_alone_need_not_stay);
	tcase_add_test(tc, without_proc_the_first_thread_may_be_known);
	tcase_add_test(tc, without_proc_nobody_stays_behind_the_first);
	return unit_run(tc, "own thread count");
}
