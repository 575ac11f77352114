/* SPDX-License-Identifier: Apache-2.0 */
/* What a fork child has of its parent's threads: nothing. */
#include "agent/core/chunk.h"
#include "agent/core/counters.h"
#include "tests/unit/emit_bench.h"

#include <sys/wait.h>
#include <unistd.h>

#define CAP (3 << 20)

static void *emit_and_say_state(void *arg)
{
	(void)arg;
	ck_assert(emit_one(1));
	return thread_mine;
}

/* What `check` says in a fork child that began as the agent begins one. */
static void in_a_child(bool (*check)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		spool_forget();
		thread_forget();
		gate_set(0, 0);
		_exit(!check());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* ---- fork ---- */

static bool is_afresh(void)
{
	const struct thread *t = thread_mine;

	return !t->counters && !t->chunk && !t->at && !t->limit && !t->cycle &&
	       !t->chunks && !atomic_load(&t->emitting) && t->tid == (uint32_t)getpid() &&
	       thread_quiet(1);
}

START_TEST(a_child_has_nothing_of_its_parents_state)
{
	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	thread_mine->counters = counters_take();
	atomic_store(&thread_mine->emitting, 1);
	in_a_child(is_afresh);
	ck_assert_ptr_nonnull(thread_mine->counters);
}
END_TEST

static bool counts_its_own(void)
{
	uint64_t sum[SPOOL_COUNTERS];

	bench_open(0, CAP);
	if (thread_mine->counters)
		return false;
	thread_mine->counters = counters_take();
	atomic_fetch_add(&thread_mine->counters->sum[0], 40);
	counters_sum(sum);
	return sum[0] == 40;
}

START_TEST(a_childs_numbers_are_its_own)
{
	bench_open(0, CAP);
	ck_assert_ptr_nonnull(thread_new());
	thread_mine->counters = counters_take();
	atomic_fetch_add(&thread_mine->counters->sum[0], 40);
	in_a_child(counts_its_own);
}
END_TEST

static struct thread *parents;
static pthread_barrier_t meet;

static void *emit_and_wait(void *arg)
{
	(void)arg;
	ck_assert(emit_one(1));
	parents = thread_mine;
	pthread_barrier_wait(&meet);
	pthread_barrier_wait(&meet);
	return NULL;
}

static bool takes_its_place(void)
{
	bench_open(0, CAP);
	bench_cycle(2);
	return on_thread(emit_and_say_state, NULL) == parents;
}

START_TEST(states_of_the_parents_threads_are_used_again)
{
	pthread_t thread;

	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	pthread_barrier_init(&meet, NULL, 2);
	pthread_create(&thread, NULL, emit_and_wait, NULL);
	pthread_barrier_wait(&meet);
	in_a_child(takes_its_place);
	pthread_barrier_wait(&meet);
	pthread_join(thread, NULL);
}
END_TEST

static uint64_t left; /* by a dead thread of the parent's */

static bool has_a_chunk_of_its_own(void)
{
	uint64_t at;

	bench_open(0, CAP);
	bench_cycle(1);
	/* A chunk of another thread, at the same place. */
	at = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	return at == left && emit_one(1) && thread_mine->chunk != chunk_at(at) &&
	       chunk_at(at)->used == sizeof(struct chunk);
}

START_TEST(a_child_takes_no_chunk_of_its_parents_dead)
{
	bench_open(0, CAP);
	bench_cycle(1);
	on_thread(emit_and_say_state, NULL);
	left = SPOOL_HEADER + CHUNK_SMALL; /* behind the window's descriptor */
	in_a_child(has_a_chunk_of_its_own);
}
END_TEST

/* A child that never begins tidies up at its end as well. */
START_TEST(a_child_does_not_remove_its_parents_file)
{
	char dir[] = "/tmp/unit-XXXXXX", path[sizeof(spool_path)];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	strcpy(path, spool_path);
	spool_forget();
	spool_unplace();
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core fork");

	tcase_add_test(tc, a_child_has_nothing_of_its_parents_state);
	tcase_add_test(tc, a_childs_numbers_are_its_own);
	tcase_add_test(tc, states_of_the_parents_threads_are_used_again);
	tcase_add_test(tc, a_child_takes_no_chunk_of_its_parents_dead);
	tcase_add_test(tc, a_child_does_not_remove_its_parents_file);
	return unit_run(tc, "core fork");
}
