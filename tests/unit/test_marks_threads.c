/* SPDX-License-Identifier: Apache-2.0 */
/* Whose annotations end steps: one thread's at a time. */
#include "tests/unit/sched_bench.h"

#include <pthread.h>

static void *train(void *arg)
{
	for (unsigned i = 0; i < *(unsigned *)arg; i++)
		annotation("my train step");
	return NULL;
}

START_TEST(only_the_thread_of_the_first_boundary_counts)
{
	unsigned many = 10;
	pthread_t t;

	start("wait=100,active=1", "torch:*train*");
	annotation("my train step");
	pthread_create(&t, NULL, train, &many);
	pthread_join(t, NULL);
	annotation("my train step");
	ck_assert_uint_eq(atomic_load(&spool.head->sched.marker_hits), 2);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 2);
}
END_TEST

/* A server has a thread for each request. */
START_TEST(the_next_thread_goes_on_when_the_first_has_ended)
{
	unsigned many = 3;
	pthread_t t;

	start("wait=100,active=1", "torch:*train*");
	for (unsigned i = 0; i < 300; i++) {
		pthread_create(&t, NULL, train, &many);
		pthread_join(t, NULL);
	}
	annotation("my train step");
	ck_assert_uint_eq(atomic_load(&spool.head->sched.marker_hits), 901);
	pthread_create(&t, NULL, train, &many);
	pthread_join(t, NULL);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.marker_hits), 901);
}
END_TEST

static void *one_step(void *token)
{
	*(uint32_t *)token = sched_begin(STEP, strlen(STEP));
	return NULL;
}

static uint32_t step_elsewhere(void)
{
	uint32_t token = 0;
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, one_step, &token), 0);
	pthread_join(t, NULL);
	return token;
}

static pthread_barrier_t here, may_end;

static void *one_step_and_stay(void *token)
{
	one_step(token);
	pthread_barrier_wait(&here);
	pthread_barrier_wait(&may_end);
	return NULL;
}

/* Each living thread has a place of its own as long as there are any; the rest goes
 * uncounted. */
START_TEST(threads_beyond_the_table_are_not_counted)
{
	enum { MOST = 256 };
	uint32_t token[MOST];
	pthread_t t[MOST];

	start("active=9", "auto");
	event();
	pthread_barrier_init(&here, NULL, MOST + 1);
	pthread_barrier_init(&may_end, NULL, MOST + 1);
	for (unsigned i = 0; i < MOST; i++)
		pthread_create(&t[i], NULL, one_step_and_stay, &token[i]);
	pthread_barrier_wait(&here);
	ck_assert_uint_eq(step_elsewhere(), 0);
	pthread_barrier_wait(&may_end);
	for (unsigned i = 0; i < MOST; i++) {
		pthread_join(t[i], NULL);
		ck_assert_uint_ne(token[i], 0);
	}
	ck_assert_uint_ne(step_elsewhere(), 0);
	sched_end(300u << 8 | 1); /* what nobody began does not count */
	ck_assert_uint_eq(atomic_load(&spool.head->sched.optimizer_steps), 0);
}
END_TEST

/* Each place has had a thread that ended, the first one made a step. */
START_TEST(steps_are_not_inherited_with_a_place)
{
	unsigned many = 1;
	pthread_t t;

	start("wait=1000,active=1", "torch:*train*");
	pthread_create(&t, NULL, train, &many);
	pthread_join(t, NULL);
	for (unsigned i = 1; i < 256; i++)
		step_elsewhere();
	pthread_barrier_init(&here, NULL, 2);
	pthread_barrier_init(&may_end, NULL, 2);
	pthread_create(&t, NULL, one_step_and_stay, &(uint32_t){ 0 });
	pthread_barrier_wait(&here);
	annotation("my train step");
	ck_assert_uint_eq(atomic_load(&spool.head->sched.marker_hits), 2);
	pthread_barrier_wait(&may_end);
	pthread_join(t, NULL);
}
END_TEST

START_TEST(a_childs_threads_share_no_place)
{
	start("active=9", "auto");
	annotation(STEP);
	gate_set(0, 0);
	sched_fork_child();
	ck_assert_uint_ne(step_elsewhere(), 0);
	ck_assert_uint_ne(sched_begin(STEP, strlen(STEP)), 0);
	/* What a parent's thread was inside of is nothing of the child's. */
	sched_fork_child();
	ck_assert_uint_ne(sched_begin(STEP, strlen(STEP)), 0);
}
END_TEST

static void *end_it(void *token)
{
	sched_end(*(uint32_t *)token);
	return NULL;
}

START_TEST(a_step_that_ends_elsewhere_is_no_boundary)
{
	uint32_t token;
	pthread_t t;

	start("active=9", "auto");
	sched_backward();
	token = sched_begin(STEP, strlen(STEP));
	ck_assert_int_eq(pthread_create(&t, NULL, end_it, &token), 0);
	pthread_join(t, NULL);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.optimizer_steps), 1);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("marks_threads");

	tcase_add_test(tc, only_the_thread_of_the_first_boundary_counts);
	tcase_add_test(tc, the_next_thread_goes_on_when_the_first_has_ended);
	tcase_add_test(tc, threads_beyond_the_table_are_not_counted);
	tcase_add_test(tc, steps_are_not_inherited_with_a_place);
	tcase_add_test(tc, a_childs_threads_share_no_place);
	tcase_add_test(tc, a_step_that_ends_elsewhere_is_no_boundary);
	return unit_run(tc, "marks_threads");
}
