/* SPDX-License-Identifier: Apache-2.0 */
/* What limits, locks and seccomp leave of the agent. */
#include "agent/core/chunk.h"
#include "agent/heap/mode.h"
#include "agent/sched/state.h"
#include "tests/unit/agent_bench.h"

START_TEST(a_child_of_vfork_changes_nothing)
{
	begin();
	wait_for_threads(2);
	agent.pid++;
	limits_alone(true);
	limits_locked(limits_lock(), true, true);
	limits_limit(RLIMIT_AS, 1 << 20);
	limits_confine(true);
	limits_confine(false);
	ck_assert(agent.on && !sys_confined && !sys_scarce && !sys_no_maps);
	ck_assert_uint_eq(spool.now, spool.cap);
	ck_assert_uint_eq(gate_cycle(), 1);
	wait_for_threads(2);
	agent.pid--;
}
END_TEST

START_TEST(who_must_be_alone_is_and_then_not_any_more)
{
	begin();
	wait_for_threads(2);
	limits_alone(true);
	wait_for_threads(1);
	limits_alone(false); /* may be within a malloc that a handler has interrupted */
	usleep(50000);
	wait_for_threads(1);
	writer_wanted();
	wait_for_threads(2);
}
END_TEST

/* What asked for that goes on, and its memory is made ready ahead as before. */
START_TEST(memory_is_made_ready_after_a_pause)
{
	begin();
	wait_for_threads(2);
	limits_alone(true);
	atomic_store(&spool.head->ready, 0);
	ck_assert_int_eq(spool_prepare(1), 0);
	ck_assert_uint_gt(atomic_load(&spool.head->ready),
			  atomic_load(&spool.head->used));
}
END_TEST

START_TEST(a_locked_programs_spool_is_small_for_a_moment)
{
	begin();
	wait_for_threads(2);
	ck_assert(limits_lock());
	ck_assert_uint_lt(spool.now, spool.cap);
	wait_for_threads(1);
	limits_locked(true, true, _i);
	ck_assert_uint_eq(spool.now, 5 << 20);
	ck_assert_int_eq(sys_no_maps, _i);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	writer_wanted();
	wait_for_threads(_i ? 1 : 2);
	limits_locked(limits_lock(), false, true); /* an error changes nothing */
	ck_assert_int_eq(sys_no_maps, _i);
	limits_locked(limits_lock(), true, false);
	ck_assert(!sys_no_maps);
	writer_wanted();
	wait_for_threads(2);
}
END_TEST

/* The first one that locks makes it small, and the last one large. */
START_TEST(who_lock_at_once_share_a_small_one)
{
	begin();
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(limits_lock());
		ck_assert_uint_lt(spool.now, spool.cap);
	}
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_lt(spool.now, spool.cap);
		limits_locked(true, false, false);
	}
	ck_assert_uint_eq(spool.now, 5 << 20);
	ck_assert_uint_eq(spool.cap, 5 << 20);
}
END_TEST

/* A handler's, in the middle of a record: what is in use there stays. */
START_TEST(in_the_middle_of_a_record_all_stays)
{
	struct thread *t;

	begin();
	t = emit_enter(REC_ALLOC);
	ck_assert_ptr_nonnull(t);
	ck_assert(!limits_lock());
	limits_limit(RLIMIT_AS, 4096);
	ck_assert_uint_eq(spool.now, 5 << 20);
	limits_locked(false, true, true);
	ck_assert(sys_no_maps && sys_scarce);
	emit_leave(t);
	ck_assert(limits_lock());
	ck_assert_uint_lt(spool.now, spool.cap);
}
END_TEST

/* The child of another thread, which forks in the middle of it. */
START_TEST(a_forks_child_has_no_lock_of_its_parents)
{
	begin();
	ck_assert(limits_lock());
	limits_fork_child();
	spool_regrow();
	ck_assert(limits_lock());
	ck_assert_uint_lt(spool.now, spool.cap);
	limits_locked(true, true, false);
	ck_assert_uint_eq(spool.now, 5 << 20);
}
END_TEST

/* Another thread's limit comes in the middle of a lock, and holds after it. */
START_TEST(a_limit_beside_a_lock_is_kept)
{
	uint64_t used;

	begin();
	used = atomic_load(&spool.head->used);
	ck_assert(limits_lock());
	limits_limit(RLIMIT_AS, 4096);
	ck_assert_uint_lt(spool.cap, 5 << 20);
	limits_locked(true, true, false);
	ck_assert_uint_eq(spool.now, spool.cap);
	ck_assert_uint_lt(spool.cap, used + 65536);
	ck_assert_uint_eq(atomic_load(&spool.head->settled), spool.cap);
}
END_TEST

static void *lock_often(void *arg)
{
	for (unsigned i = 0; i < 200; i++) {
		bool ours = limits_lock();

		ck_assert(ours);
		ck_assert_uint_lt(spool.now, spool.cap);
		limits_locked(ours, true, false);
	}
	return arg;
}

START_TEST(threads_that_lock_at_once_leave_it_as_it_was)
{
	uint64_t limit, used;
	pthread_t id[3];

	begin();
	limit = atomic_load(&spool.head->limit);
	for (unsigned i = 0; i < 3; i++)
		pthread_create(&id[i], NULL, lock_often, NULL);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(id[i], NULL);
	used = atomic_load(&spool.head->used);
	ck_assert_uint_eq(spool.now, 5 << 20);
	ck_assert_uint_eq(atomic_load(&spool.head->limit), limit);
	ck_assert_uint_lt(used, 4 << 20);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	writer_wanted();
	wait_for_threads(2);
}
END_TEST

START_TEST(a_limit_makes_it_smaller_for_good)
{
	begin();
	wait_for_threads(2);
	limits_limit(RLIMIT_AS, UINT64_MAX);
	ck_assert(!sys_scarce);
	ck_assert_uint_eq(spool.cap, 5 << 20);
	limits_limit(RLIMIT_AS, 4096);
	ck_assert(sys_scarce);
	ck_assert_uint_lt(spool.cap, 5 << 20);
	ck_assert_uint_eq(spool.now, spool.cap);
	writer_wanted();
	wait_for_threads(2);
	ck_assert(emit_one(2));
}
END_TEST

START_TEST(a_lock_after_a_limit_makes_it_small)
{
	begin();
	limits_limit(RLIMIT_AS, 1ull << 40);
	ck_assert(limits_lock());
	ck_assert_uint_lt(spool.now, spool.cap);
	limits_locked(true, true, false);
	ck_assert_uint_eq(spool.now, 5 << 20);
}
END_TEST

static unsigned asked;

static bool count_calls(long nr, const long a[6], long *result)
{
	(void)nr;
	(void)a;
	(void)result;
	asked++;
	return false;
}

/* seccomp comes: what was there goes on, and asks for nothing. */
START_TEST(a_confined_program_is_recorded_without_a_question)
{
	begin();
	wait_for_threads(2);
	limits_confine(false);
	ck_assert_uint_eq(threads(), 1); /* it has left before */
	seam = count_calls;
	ck_assert(sys_confined && log_quiet && agent.on);
	ck_assert_uint_ne(names_add("name", 4, "", 0), 0);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	for (int i = 0; i < 2; i++) { /* before and after */
		limits_locked(!i && limits_lock(), true, true);
		limits_alone(!i);
	}
	limits_limit(RLIMIT_AS, 1 << 20);
	limits_confine(false);
	ck_assert_uint_eq(asked, 0);
	ck_assert(!sys_no_maps && !sys_scarce);
}
END_TEST

static int fork_one(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		fork_child();
		_exit(agent.on || gate_cycle());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* More memory would have been of no use: that is not what is told. */
START_TEST(what_is_lost_behind_seccomp_has_its_reason)
{
	const struct spool_totals *t;
	struct cycle_info *info;
	unsigned tries = 0;

	begin();
	info = (struct cycle_info *)(chunk_at(gate->cycle_at) + 1);
	t = &spool.head->totals;
	limits_confine(false);
	while (emit_one(1))
		ck_assert_uint_lt(tries++, 10000000);
	ck_assert_uint_gt(info->whys[DROP_CONFINED] + t->whys[DROP_CONFINED], 0);
	ck_assert_uint_eq(info->whys[DROP_CAP] + t->whys[DROP_CAP], 0);
	ck_assert_int_eq(fork_one(), 0);
	ck_assert_uint_eq(job->confined, 1);
	ck_assert_uint_eq(job->unrecorded, 0);
	sys_unconfine(); /* for the fixture */
}
END_TEST

/* The filter was refused: all goes on. */
START_TEST(who_is_not_confined_after_all_goes_on)
{
	uint64_t limit;

	begin();
	wait_for_threads(2);
	limit = atomic_load(&spool.head->limit);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert(limits_confine(false));
		ck_assert(!limits_confine(false)); /* the first one's to take back */
		limits_unconfine();
		ck_assert(!sys_confined && !log_quiet && agent.on);
		ck_assert_uint_eq(atomic_load(&spool.head->limit), limit);
		wait_for_threads(2);
	}
	ck_assert(emit_one(1));
}
END_TEST

START_TEST(without_a_clock_nothing_is_recorded)
{
	begin();
	if (_i)
		ck_assert(limits_confine(false));
	ck_assert(!limits_confine(true));
	ck_assert(sys_confined && log_quiet && !agent.on);
	if (_i)
		return; /* nothing could be asked for any more */
	ck_assert_uint_eq(gate_cycle(), 0);
	ck_assert_uint_eq(left, 1);
}
END_TEST

/* ---- the heap ---- */

/* What is allocated before main is counted from then on, if that was asked for. */
START_TEST(since_the_start_is_since_the_start)
{
	configure();
	ck_assert_ptr_null(config_set(&agent.config, "malloc", "count"));
	agent.config.malloc_since = (uint32_t)_i;
	place();
	agent_heap_start(agent_begin);
	ck_assert_uint_eq(agent.state, _i ? AGENT_READY : AGENT_FRESH);
}
END_TEST

/* A container's processes have the same few pids each time. */
START_TEST(samples_are_others_each_time)
{
	uint64_t seed;

	configure();
	ck_assert_ptr_null(config_set(&agent.config, "malloc", "sample"));
	place();
	agent_heap_start(agent_begin);
	seed = heap_settings.seed;
	agent_heap_start(agent_begin);
	ck_assert_uint_ne(heap_settings.seed, seed);
	setenv("PROF_MALLOC_SEED", "4711", 1);
	agent_heap_start(agent_begin);
	ck_assert_uint_eq(heap_settings.seed, 4711);
}
END_TEST

/* A child records from its first call on where its parent records, and only there. */
START_TEST(a_child_waits_as_its_parent_does)
{
	configure();
	ck_assert_ptr_null(config_set(&agent.config, "malloc", "count"));
	agent.config.children = _i & 2 ? CHILDREN_ON : CHILDREN_OFF;
	place();
	heap_settings.mode = HEAP_COUNT;
	atomic_store(&heap_real.mode, HEAP_IDLE);
	atomic_store(&sched.life, _i & 1 ? LIFE_ON : LIFE_NONE);
	agent_heap_fork_child();
	ck_assert_uint_eq(heap_mode(), _i == 3 ? HEAP_ASLEEP : HEAP_IDLE);
	/* A daemon's second fork, before its first call. */
	atomic_store(&sched.life, LIFE_NONE);
	agent_heap_fork_child();
	ck_assert_uint_eq(heap_mode(), _i == 3 ? HEAP_ASLEEP : HEAP_IDLE);
}
END_TEST

START_TEST(what_we_do_is_not_the_programs)
{
	begin();
	guard_word = 0x770;
	agent_heap_wants();
	ck_assert_uint_eq(guard_word, 0x770);
	agent_heap_wake();
	ck_assert_uint_eq(guard_word, 0x770);
	guard_word = 0;
	agent_heap_tick(); /* by a thread that is ours */
	ck_assert_uint_eq(guard_word, GUARD_OURS);
	guard_word = 0;
	agent_heap_sample();
	ck_assert_uint_eq(guard_word, GUARD_OURS);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("agent limits");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_test(tc, a_child_of_vfork_changes_nothing);
	tcase_add_test(tc, who_must_be_alone_is_and_then_not_any_more);
	tcase_add_test(tc, memory_is_made_ready_after_a_pause);
	tcase_add_loop_test(tc, a_locked_programs_spool_is_small_for_a_moment, 0, 2);
	tcase_add_test(tc, who_lock_at_once_share_a_small_one);
	tcase_add_test(tc, in_the_middle_of_a_record_all_stays);
	tcase_add_test(tc, a_forks_child_has_no_lock_of_its_parents);
	tcase_add_test(tc, a_limit_beside_a_lock_is_kept);
	tcase_add_test(tc, threads_that_lock_at_once_leave_it_as_it_was);
	tcase_add_test(tc, a_limit_makes_it_smaller_for_good);
	tcase_add_test(tc, a_lock_after_a_limit_makes_it_small);
	tcase_add_test(tc, a_confined_program_is_recorded_without_a_question);
	tcase_add_test(tc, what_is_lost_behind_seccomp_has_its_reason);
	tcase_add_test(tc, who_is_not_confined_after_all_goes_on);
	tcase_add_loop_test(tc, without_a_clock_nothing_is_recorded, 0, 2);
	tcase_add_loop_test(tc, since_the_start_is_since_the_start, 0, 2);
	tcase_add_test(tc, samples_are_others_each_time);
	tcase_add_loop_test(tc, a_child_waits_as_its_parent_does, 0, 4);
	tcase_add_test(tc, what_we_do_is_not_the_programs);
	return unit_run(tc, "agent limits");
}
