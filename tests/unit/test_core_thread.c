/* SPDX-License-Identifier: Apache-2.0 */
/* States of threads: their life, and whose chunk is written. */
#include "agent/core/chunk.h"
#include "agent/core/rare.h"
#include "tests/unit/emit_bench.h"
#include "tests/unit/seam.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <unistd.h>

#define CAP (3 << 20)

/* ---- what a thread leaves ---- */

static void *name_itself(void *arg)
{
	struct thread *t;

	ck_assert(emit_one(1));
	t = thread_mine;
	ck_assert_uint_eq(t->ordinal, 0);
	t->ordinal = (uint32_t)(uintptr_t)arg;
	ck_assert(emit_one(2)); /* says it */
	return t;
}

START_TEST(a_new_thread_has_no_number_of_a_dead_one)
{
	void *first;

	bench_open(0, CAP);
	bench_cycle(1);
	first = on_thread(name_itself, (void *)77);
	ck_assert_ptr_eq(on_thread(name_itself, (void *)78), first);
	ck_assert_uint_eq(bench_records(REC_THREAD), 4);
}
END_TEST

static void *emit_and_say_chunk(void *arg)
{
	(void)arg;
	ck_assert(emit_one(1));
	return thread_mine->chunk;
}

START_TEST(leftovers_of_a_window_stay_in_it)
{
	struct chunk *left, *next;

	bench_open(0, CAP);
	bench_cycle(1);
	left = on_thread(emit_and_say_chunk, NULL);
	ck_assert_ptr_eq(on_thread(emit_and_say_chunk, NULL), left);
	bench_cycle(2);
	next = on_thread(emit_and_say_chunk, NULL);
	ck_assert_ptr_ne(next, left);
	ck_assert_uint_eq(next->cycle, 2);
	atomic_store(&next->taken, 1); /* the writer was there */
	ck_assert_ptr_ne(on_thread(emit_and_say_chunk, NULL), next);
}
END_TEST

/* A thread whose window is over when it ends leaves nothing: its chunk is the writer's.
 */
static void *emit_and_see_a_seal(void *arg)
{
	ck_assert(emit_one(1));
	*(struct chunk **)arg = thread_mine->chunk;
	gate_set(2, atomic_load(&gate->cycle_at));
	return NULL;
}

START_TEST(nothing_is_left_behind_a_seal)
{
	struct chunk *sealed;

	bench_open(0, CAP);
	bench_cycle(1);
	on_thread(emit_and_see_a_seal, &sealed);
	gate_set(1, atomic_load(&gate->cycle_at));
	ck_assert_ptr_ne(on_thread(emit_and_say_chunk, NULL), sealed);
}
END_TEST

static uint8_t *reserve(uint32_t size)
{
	struct thread *t = emit_enter(REC_OP);
	uint8_t *p = emit_reserve(t, REC_OP, size);

	if (p) {
		ck_assert_ptr_nonnull(t->chunk);
		ck_assert(p + size <= t->limit);
		memset(p, 0, size);
		emit_commit(t, (struct record *)p, REC_OP, 0, size);
		ck_assert(t->at <= t->limit);
	}
	emit_leave(t);
	return p;
}

static void *leave_little(void *arg)
{
	(void)arg;
	ck_assert_ptr_nonnull(reserve(2000));
	ck_assert_ptr_nonnull(reserve(1600));
	ck_assert_int_gt(thread_mine->limit - thread_mine->at, 256);
	return NULL;
}

static void *want_more(void *arg)
{
	(void)arg;
	ck_assert_ptr_nonnull(reserve(1000));
	return NULL;
}

START_TEST(a_leftover_has_the_room_that_is_asked_for)
{
	bench_open(0, CAP);
	bench_cycle(1);
	on_thread(leave_little, NULL);
	on_thread(want_more, NULL);
}
END_TEST

/* Around the size of a chunk; each with the thread's record before it. */
START_TEST(no_record_runs_over_its_chunk)
{
	uint64_t cycle = 0;

	bench_open(0, 6 << 20);
	for (uint32_t size = CHUNK_SMALL - 256; size <= CHUNK_SMALL + 64; size += 8) {
		bench_cycle(++cycle);
		ck_assert_ptr_nonnull(reserve(size));
	}
	/* The second one of a chunk that has room for all but the thread's record. */
	for (uint32_t rest = 0; rest <= 128; rest += 8) {
		bench_cycle(++cycle);
		ck_assert_ptr_nonnull(reserve(CHUNK_SMALL - 64 - 48 - 1000 - rest));
		thread_mine->ordinal++;
		ck_assert_ptr_nonnull(reserve(1000));
	}
	ck_assert_ptr_null(reserve(CHUNK_LARGE - 64));
	ck_assert_ptr_nonnull(reserve(40));
}
END_TEST

/* ---- threads that are over ---- */

static pthread_key_t late;

/* Called when the thread's state is gone, as destructors that free are. */
static void free_something(void *arg)
{
	struct thread *t = emit_enter(REC_FREE);
	struct record *r = emit_reserve(t, REC_FREE, sizeof(*r));

	(void)arg;
	ck_assert_ptr_null(thread_mine);
	memset(r, 0, sizeof(*r));
	emit_commit(t, r, REC_FREE, 0, sizeof(*r));
	emit_leave(t);
	ck_assert_ptr_null(emit_enter(REC_OP));
	ck_assert_ptr_null(emit_enter(REC_HEAP));
	ck_assert_ptr_null(thread_mine);
}

static void *free_at_the_end(void *arg)
{
	ck_assert(emit_one(1));
	pthread_setspecific(late, arg);
	return NULL;
}

START_TEST(frees_behind_a_threads_end_are_its_own)
{
	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert_int_eq(pthread_key_create(&late, free_something), 0);
	for (int i = 0; i < 3; i++)
		on_thread(free_at_the_end, &late);
	ck_assert_uint_eq(bench_records(REC_FREE), 3);
	ck_assert_uint_eq(bench_records(REC_THREAD), 6); /* each is named, twice */
	ck_assert_uint_eq(bench_info()->whys[DROP_DEAD], 3);
	ck_assert_uint_eq(bench_info()->drops[REC_OP], 3);
	ck_assert_uint_eq(bench_info()->drops[REC_HEAP], 0);
}
END_TEST

START_TEST(the_state_of_the_dead_is_given_back)
{
	struct thread *t;

	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert_ptr_null(thread_last(REC_FREE, 99)); /* sealed meanwhile */
	t = thread_last(REC_FREE, 1);
	ck_assert_ptr_nonnull(t);
	ck_assert_ptr_null(thread_last(REC_FREE, 1)); /* in a handler within it */
	ck_assert_uint_eq(bench_info()->whys[DROP_DEAD], 1);
	ck_assert(!thread_quiet(1));
	ck_assert(thread_quiet(2));
	emit_leave(t);
	ck_assert(thread_quiet(1));
}
END_TEST

static long voluntary_switches(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

static sem_t held;

static void *hold_the_dead_state(void *arg)
{
	struct thread *t = thread_last(REC_FREE, 1);

	sem_post(&held);
	usleep(5000); /* as one that the machine takes the processor from */
	emit_leave(t);
	return arg;
}

START_TEST(a_holder_without_a_processor_is_waited_for)
{
	pthread_t holder;
	struct thread *t;

	bench_open(0, CAP);
	bench_cycle(1);
	sem_init(&held, 0, 0);
	ck_assert_int_eq(pthread_create(&holder, NULL, hold_the_dead_state, NULL), 0);
	sem_wait(&held);
	t = thread_last(REC_FREE, 1);
	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(bench_info()->whys[DROP_DEAD], 0);
	emit_leave(t);
	pthread_join(holder, NULL);
}
END_TEST

static void *leave_for_good(void *arg)
{
	ck_assert_ptr_nonnull(thread_last(REC_FREE, 1));
	return arg;
}

START_TEST(a_holder_that_is_gone_costs_one_wait)
{
	long naps;

	bench_open(0, CAP);
	bench_cycle(1);
	on_thread(leave_for_good, NULL);
	ck_assert_ptr_null(thread_last(REC_FREE, 1));
	naps = voluntary_switches();
	ck_assert_ptr_null(thread_last(REC_FREE, 1));
	ck_assert_int_lt(voluntary_switches() - naps, 100);
	ck_assert_uint_eq(bench_info()->whys[DROP_DEAD], 2);
}
END_TEST

/* ---- what is counted, and what is kept ---- */

START_TEST(drops_are_counted_where_they_are_seen)
{
	bench_open(0, CAP);
	thread_drop(REC_OP, DROP_NESTED);
	ck_assert_uint_eq(spool.head->totals.drops[REC_OP], 1);
	ck_assert_uint_eq(spool.head->totals.whys[DROP_NESTED], 1);
	bench_cycle(1);
	thread_drop(REC_OP, DROP_NESTED);
	ck_assert_uint_eq(spool.head->totals.drops[REC_OP], 1);
	ck_assert_uint_eq(bench_info()->drops[REC_OP], 1);
	ck_assert_uint_eq(bench_info()->whys[DROP_NESTED], 1);
	thread_late(REC_FREE);
	ck_assert_uint_eq(spool.head->totals.drops[REC_FREE], 1);
	ck_assert_uint_eq(spool.head->totals.whys[DROP_LATE], 1);
}
END_TEST

static void set_errno(void)
{
	errno = 77;
}

START_TEST(a_new_chunk_costs_and_keeps_errno)
{
	bench_open(0, CAP);
	bench_cycle(1);
	thread_wants = set_errno;
	errno = 4711;
	ck_assert(emit_one(1));
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_gt(rare_take(), 0);
	ck_assert(emit_one(1)); /* the chunk is there */
	ck_assert_uint_eq(rare_take(), 0);
	for (int i = 0; i < 1000; i++)
		ck_assert(emit_one(i));
	ck_assert_uint_gt(rare_take(), 0);
	ck_assert_uint_eq(bench_info()->faulted, 0);
	atomic_store(&spool.head->ready, SPOOL_HEADER); /* our thread was too slow */
	bench_cycle(2);
	ck_assert(emit_one(1));
	ck_assert_uint_eq(bench_info()->faulted, 1);
}
END_TEST

static uintptr_t guard_then;

static bool note_guard(long nr, const long a[6], long *result)
{
	(void)a;
	(void)result;
	if (nr == SYS_gettid)
		guard_then = guard_word;
	return false;
}

/* A key's first value may be allocated: that is ours, and nothing after it. */
START_TEST(a_state_is_made_by_us_alone)
{
	bench_open(0, CAP);
	bench_cycle(1);
	seam = note_guard;
	guard_word = 0x123450;
	errno = 4711;
	ck_assert(emit_one(1));
	ck_assert_uint_eq(guard_then, GUARD_OURS);
	ck_assert_uint_eq(guard_word, 0x123450);
	ck_assert_int_eq(errno, 4711);
	for (int i = 0; i < 2000; i++) /* a process has 1,024 keys */
		ck_assert_int_eq(thread_start(), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core thread");

	tcase_add_test(tc, a_new_thread_has_no_number_of_a_dead_one);
	tcase_add_test(tc, leftovers_of_a_window_stay_in_it);
	tcase_add_test(tc, nothing_is_left_behind_a_seal);
	tcase_add_test(tc, a_leftover_has_the_room_that_is_asked_for);
	tcase_add_test(tc, no_record_runs_over_its_chunk);
	tcase_add_test(tc, frees_behind_a_threads_end_are_its_own);
	tcase_add_test(tc, the_state_of_the_dead_is_given_back);
	tcase_add_test(tc, a_holder_without_a_processor_is_waited_for);
	tcase_add_test(tc, a_holder_that_is_gone_costs_one_wait);
	tcase_add_test(tc, drops_are_counted_where_they_are_seen);
	tcase_add_test(tc, a_new_chunk_costs_and_keeps_errno);
	tcase_add_test(tc, a_state_is_made_by_us_alone);
	return unit_run(tc, "core thread");
}
