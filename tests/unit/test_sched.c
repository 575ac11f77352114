/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/job.h"
#include "tests/unit/said.h"
#include "tests/unit/sched_bench.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a process's life begins and ends, alone and after a fork. */

/* ---- the first events of many threads ---- */

#define THREADS 8u

static _Atomic unsigned waiting, back;
static _Atomic bool counting;
static __thread bool waits;
static void (*yielded)(void);

/* Who waits for another thread's step 0 comes by here. */
int sched_yield(void)
{
	if (yielded)
		yielded();
	if (counting && !waits) {
		waits = true;
		waiting++;
	}
	return (int)syscall(SYS_sched_yield);
}

/* The others wait by now, or one of them did not. */
static void until_the_others_wait(void)
{
	while (waiting < THREADS - 1 && !back)
		syscall(SYS_sched_yield);
	counting = false;
}

static void *first_event(void *barrier)
{
	pthread_barrier_wait(barrier);
	annotation(STEP);
	back++;
	return NULL;
}

START_TEST(first_events_of_other_threads_wait_for_step_0)
{
	pthread_t thread[THREADS];
	pthread_barrier_t barrier;

	start("active=9", "auto");
	did.begins = until_the_others_wait;
	counting = true;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, first_event, &barrier),
				 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(did.begin, 1);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.optimizer_steps), THREADS);
	ck_assert_uint_eq(atomic_load(&cycle(1)->whys[DROP_START]), 0);
}
END_TEST

static void it_fails(void)
{
	errno = EAGAIN;
	atomic_store(&sched.life, LIFE_NONE);
}

START_TEST(who_waited_in_vain_has_its_errno)
{
	start("active=9", "cuda:*");
	yielded = it_fails;
	atomic_store(&sched.life, LIFE_STARTING);
	errno = ENOENT;
	ck_assert_uint_eq(sched_call_begin("cudaLaunchKernel", NULL), 0);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_uint_eq(did.begin, 0);
}
END_TEST

/* It is told in the window that the next event opens, before any boundary. */
START_TEST(an_event_that_could_not_wait_is_told_at_once)
{
	start("active=9", "auto");
	atomic_store(&sched.life, LIFE_STARTING);
	event();
	atomic_store(&sched.life, LIFE_NONE);
	event();
	ck_assert_uint_eq(atomic_load(&cycle(1)->whys[DROP_START]), 1);
}
END_TEST

START_TEST(what_fails_once_is_tried_again)
{
	start("active=9", "auto");
	did.refuses = true;
	event();
	no_cycle(1);
	did.refuses = false;
	event();
	ck_assert_uint_eq(gate_cycle(), 1);
	ck_assert_uint_eq(did.begin, 2);
}
END_TEST

/* Each try costs a little at each operator: not for ever. */
START_TEST(what_fails_for_good_is_tried_no_more)
{
	start("active=9", "auto");
	sched_torch_found();
	did.refuses = true;
	ck_assert(did.observing);
	for (unsigned i = 0; i < 200000 && did.observing; i++)
		sched_wake();
	ck_assert(!did.observing);
	ck_assert_uint_eq(atomic_load(&sched.life), LIFE_OFF);
	ck_assert_uint_gt(did.begin, 1000);
	did.refuses = false;
	did.begin = 0;
	event();
	ck_assert_uint_eq(did.begin, 0);
	no_cycle(1);
}
END_TEST

/* ---- where it begins ---- */

START_TEST(the_first_step_begins_with_main)
{
	start("active=9", _i ? "none" : "auto");
	if (!_i)
		sched_step();
	ck_assert_uint_eq(cycle(1)->begin, sched.main_ticks);
	ck_assert_uint_ne(sched.main_ticks, 0);
	ck_assert_str_eq(steps(1), _i ? "" : "0 1*");
}
END_TEST

START_TEST(a_wrong_schedule_is_the_default_one)
{
	const char *text;

	said_start();
	start("every=3", "auto");
	text = said();
	ck_assert_msg(strstr(text, "schedule = every=3: unknown word"), "%s", text);
	ck_assert_uint_eq(said_lines(text), 1);
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
}
END_TEST

/* ---- errno, the lock ---- */

START_TEST(a_boundary_leaves_errno)
{
	start("warmup=1,active=1,repeat=2", "auto");
	for (unsigned i = 0; i < 4; i++) {
		errno = ENOENT;
		sched_step();
		ck_assert_int_eq(errno, ENOENT);
	}
	ck_assert_uint_eq(did.sealed, 2);
	sched_exit();
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(the_exit_leaves_errno)
{
	start("active=9", "auto");
	sched_step();
	errno = ENOENT;
	sched_exit();
	ck_assert_uint_eq(did.sealed, 1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(what_takes_its_time_is_done_without_the_lock)
{
	start("active=1", "auto");
	for (unsigned i = 0; i < 3; i++)
		sched_step();
	ck_assert_uint_eq(did.opened_now, 4);
	sched_collect(true); /* opens none */
	ck_assert_uint_eq(did.opened_now, 4);
	ck_assert(!did.locked);
	ck_assert(!sched_locked());
}
END_TEST

START_TEST(a_handler_within_a_boundary_is_counted)
{
	start("active=9", "auto");
	event();
	ck_assert(sched_lock());
	ck_assert(!sched_lock());
	ck_assert(sched_midway());
	sched_step();
	ck_assert_uint_eq(atomic_load(&cycle(1)->whys[DROP_BOUNDARY]), 1);
	sched_unlock();
	sched_step();
	is_cycle(1, CYCLE_OPEN, "0 1*");
}
END_TEST

/* ---- fork ---- */

/* In a process of its own; what it returns is its exit status. */
static int in_child(int (*body)(void))
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		gate_set(0, 0);
		sched_fork_child();
		_exit(body());
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

static int begins_with_its_birth(void)
{
	uint64_t born = clock_ticks();

	sched_step();
	return !cycle(1) || cycle(1)->begin < born;
}

START_TEST(a_childs_window_begins_with_the_child)
{
	start("active=9", "auto");
	ck_assert_int_eq(in_child(begins_with_its_birth), 0);
}
END_TEST

static int has_one_of_its_own(void)
{
	event();
	return !cycle(3) || cycle(3)->flags != CYCLE_PROVISIONAL;
}

/* Its parent is past all that. */
START_TEST(a_childs_first_window_is_provisional_again)
{
	start("", "auto");
	event();
	for (unsigned i = 0; i < 7; i++)
		iteration();
	is_cycle(2, CYCLE_SEALED, "2 3 4");
	ck_assert_int_eq(in_child(has_one_of_its_own), 0);
}
END_TEST

static int records_nothing(void)
{
	event();
	sched_step();
	return cycle(1) != NULL;
}

START_TEST(a_child_of_one_that_is_off_stays_off)
{
	start("active=9", "auto");
	sched_stay_out();
	ck_assert_int_eq(in_child(records_nothing), 0);
}
END_TEST

static int makes_steps(void)
{
	sched_step();
	return !cycle(1) || sched_locked();
}

/* A handler in the middle of a boundary forked. */
START_TEST(a_child_has_nobodys_lock)
{
	start("active=9", "auto");
	ck_assert(sched_lock());
	ck_assert_int_eq(in_child(makes_steps), 0);
	ck_assert(sched_locked());
}
END_TEST

/* ---- a function that is not there ---- */

/* Every shell around the program ends here, too. */
START_TEST(who_should_have_the_function_says_so)
{
	start("active=9", "symbol:train!step");
	job = calloc(1, sizeof(*job));
	atomic_store(&job->launcher, (uint32_t)getppid() + (_i == 1));
	atomic_store(&sched.torch, _i == 2);
	said_start();
	sched_exit();
	ck_assert_int_eq(strstr(said(), "marker symbol:train!step: there is no such") !=
				 NULL,
			 _i != 1);
}
END_TEST

START_TEST(one_of_a_job_says_that_there_is_no_function)
{
	start("active=9", "symbol:train!step");
	job = calloc(1, sizeof(*job));
	atomic_store(&job->told, TOLD_SYMBOL);
	said_start();
	sched_exit();
	ck_assert_str_eq(said(), "");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("sched");

	tcase_add_test(tc, first_events_of_other_threads_wait_for_step_0);
	tcase_add_test(tc, who_waited_in_vain_has_its_errno);
	tcase_add_test(tc, an_event_that_could_not_wait_is_told_at_once);
	tcase_add_test(tc, what_fails_once_is_tried_again);
	tcase_add_test(tc, what_fails_for_good_is_tried_no_more);
	tcase_add_loop_test(tc, the_first_step_begins_with_main, 0, 2);
	tcase_add_test(tc, a_wrong_schedule_is_the_default_one);
	tcase_add_test(tc, a_boundary_leaves_errno);
	tcase_add_test(tc, the_exit_leaves_errno);
	tcase_add_test(tc, what_takes_its_time_is_done_without_the_lock);
	tcase_add_test(tc, a_handler_within_a_boundary_is_counted);
	tcase_add_test(tc, a_childs_window_begins_with_the_child);
	tcase_add_test(tc, a_childs_first_window_is_provisional_again);
	tcase_add_test(tc, a_child_of_one_that_is_off_stays_off);
	tcase_add_test(tc, a_child_has_nobodys_lock);
	tcase_add_loop_test(tc, who_should_have_the_function_says_so, 0, 3);
	tcase_add_test(tc, one_of_a_job_says_that_there_is_no_function);
	return unit_run(tc, "sched");
}
