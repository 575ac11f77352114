/* SPDX-License-Identifier: Apache-2.0 */
/* What mlockall finds of the agent's memory, and what it leaves. */
#include "agent/core/chunk.h"
#include "agent/turns.h"
#include "base/guard.h"
#include "tests/unit/agent_bench.h"

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

/* Of a program with one thread nothing but the header is locked, if the kernel refuses
 * more; if something else lies there then, recording ends. */
START_TEST(what_is_in_use_is_put_away_if_there_is_one_thread)
{
	begin();
	wait_for_threads(2);
	for (int i = 0; i < 2; i++) {
		ck_assert(limits_lock());
		ck_assert_uint_ne(spool.now, SPOOL_HEADER);
		ck_assert(limits_lock_less());
		ck_assert_uint_eq(spool.now, SPOOL_HEADER);
		limits_locked(true, true, false);
		ck_assert_uint_eq(spool.now, 5 << 20);
		ck_assert(emit_one(1));
	}
	ck_assert(limits_lock());
	ck_assert(limits_lock_less());
	ck_assert_ptr_ne(mmap(spool.base + SPOOL_HEADER, 4096, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 MAP_FAILED);
	limits_locked(true, true, false);
	ck_assert(!agent.on && !emit_one(1));
}
END_TEST

static _Atomic bool ends;

static void *wait_for_the_end(void *arg)
{
	while (!ends)
		usleep(100);
	return arg;
}

/* Another thread, or this one in the middle of a call that a handler has interrupted, may
 * have a pointer there. */
START_TEST(what_others_may_use_is_not_put_away)
{
	pthread_t id;

	begin();
	wait_for_threads(2);
	guard_word = 0x770;
	ck_assert(limits_lock());
	ck_assert(!limits_lock_less());
	limits_locked(true, false, false);
	guard_word = 0;
	pthread_create(&id, NULL, wait_for_the_end, NULL);
	ck_assert(limits_lock());
	ck_assert(!limits_lock_less());
	ends = true;
	pthread_join(id, NULL);
	ck_assert(!limits_lock_less()); /* it began with two */
	limits_locked(true, false, false);
	ck_assert(emit_one(1));
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

static void *begin_meanwhile(void *arg)
{
	*(bool *)arg = agent_begin();
	return NULL;
}

/* What would begin meanwhile is to be locked as well, and its first window lost. */
START_TEST(what_begins_waits_for_a_lock)
{
	bool begun = false;
	pthread_t id;

	configure();
	place();
	ck_assert(limits_lock());
	pthread_create(&id, NULL, begin_meanwhile, &begun);
	usleep(5000);
	ck_assert_uint_eq(agent.state, AGENT_STARTING);
	ck_assert_ptr_null(spool.head);
	limits_locked(true, true, false);
	pthread_join(id, NULL);
	ck_assert(begun);
	ck_assert_uint_eq(spool.now, 5 << 20);
	ck_assert(limits_lock()); /* its turn has ended */
	ck_assert_uint_lt(spool.now, spool.cap);
}
END_TEST

/* One that never ends is no reason not to record. */
START_TEST(what_begins_does_not_wait_for_ever)
{
	configure();
	place();
	ck_assert(limits_lock());
	ck_assert(agent_begin());
}
END_TEST

/* There was no turn to make the spool small: all of it is locked for the moment. */
START_TEST(what_was_locked_whole_is_unlocked)
{
	char line[128];
	FILE *file;
	long kb = -1;

	begin();
	ck_assert(turns_take());
	ck_assert(limits_lock());
	ck_assert_uint_eq(spool.now, spool.cap);
	turns_give();
	ck_assert_int_eq(mlock(spool.base, SPOOL_HEADER), 0);
	limits_locked(true, true, false);
	file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmLck: %ld", &kb);
	fclose(file);
	ck_assert_int_eq(kb, 0);
}
END_TEST

/* Who had the turn is gone. */
START_TEST(a_spool_that_is_small_grows_again_whoever_had_the_turn)
{
	begin();
	ck_assert(limits_lock());
	ck_assert(turns_take());
	limits_locked(true, true, false);
	ck_assert_uint_eq(spool.now, 5 << 20);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("agent locks");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_loop_test(tc, a_locked_programs_spool_is_small_for_a_moment, 0, 2);
	tcase_add_test(tc, who_lock_at_once_share_a_small_one);
	tcase_add_test(tc, what_is_in_use_is_put_away_if_there_is_one_thread);
	tcase_add_test(tc, a_forks_child_has_no_lock_of_its_parents);
	tcase_add_test(tc, threads_that_lock_at_once_leave_it_as_it_was);
	tcase_add_test(tc, what_others_may_use_is_not_put_away);
	tcase_add_test(tc, what_begins_waits_for_a_lock);
	tcase_add_test(tc, what_begins_does_not_wait_for_ever);
	tcase_add_test(tc, what_was_locked_whole_is_unlocked);
	tcase_add_test(tc, a_spool_that_is_small_grows_again_whoever_had_the_turn);
	return unit_run(tc, "agent locks");
}
