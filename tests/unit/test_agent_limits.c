/* SPDX-License-Identifier: Apache-2.0 */
/* What limits, locks and seccomp leave of the agent. */
#include "agent/core/chunk.h"
#include "tests/unit/agent_bench.h"
#include "tests/unit/mapped_bytes.h"

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

/* The spool's own 5 MiB are not the program's: a sixteenth of what it leaves is ours. */
START_TEST(a_lock_after_a_limit_makes_it_small)
{
	uint64_t used, cap;

	begin();
	used = atomic_load(&spool.head->used);
	limits_limit(RLIMIT_AS, mapped_bytes(MAPPED_ALL) + (43 << 20));
	cap = spool.cap;
	ck_assert_uint_gt(cap, used + (2800 << 10));
	ck_assert_uint_lt(cap, used + (3200 << 10));
	ck_assert(limits_lock());
	ck_assert_uint_lt(spool.now, cap);
	limits_locked(true, true, false);
	ck_assert_uint_eq(spool.now, cap);
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

/* There is no spool yet; tables are small from then on. */
START_TEST(a_limit_before_the_first_record_counts)
{
	configure();
	strcpy(agent.config.marker, "auto");
	place();
	ck_assert_ptr_null(spool.base);
	limits_limit(RLIMIT_AS, 1ull << 40);
	ck_assert(!sys_scarce);
	limits_limit(RLIMIT_AS, 4096);
	ck_assert(sys_scarce);
}
END_TEST

/* What a limit on data has left is not what one on all leaves. */
START_TEST(a_limit_on_data_is_none_on_all)
{
	uint64_t bytes;

	begin();
	ck_assert_ptr_ne(
		mmap(NULL, 200 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		MAP_FAILED);
	bytes = mapped_bytes(MAPPED_ALL) + (43 << 20);
	limits_limit(RLIMIT_DATA, bytes);
	ck_assert_uint_eq(spool.cap, 5 << 20);
	limits_limit(RLIMIT_AS, bytes);
	ck_assert_uint_lt(spool.cap, 5 << 20);
}
END_TEST

START_TEST(a_limit_that_was_there_is_not_looked_at_again)
{
	begin();
	limits_limit(RLIMIT_DATA, 4096);
	seam = count_calls;
	limits_limit(RLIMIT_DATA, 4096);
	ck_assert_uint_eq(asked, 0);
	limits_limit(RLIMIT_DATA,
		     UINT64_MAX); /* the program may have mapped more since */
	asked = 0;
	limits_limit(RLIMIT_DATA, 4096);
	ck_assert_uint_gt(asked, 2);
	seam = NULL;
}
END_TEST

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

int main(void)
{
	TCase *tc = tcase_create("agent limits");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_test(tc, a_child_of_vfork_changes_nothing);
	tcase_add_test(tc, who_must_be_alone_is_and_then_not_any_more);
	tcase_add_test(tc, memory_is_made_ready_after_a_pause);
	tcase_add_test(tc, in_the_middle_of_a_record_all_stays);
	tcase_add_test(tc, a_limit_beside_a_lock_is_kept);
	tcase_add_test(tc, a_limit_makes_it_smaller_for_good);
	tcase_add_test(tc, a_lock_after_a_limit_makes_it_small);
	tcase_add_test(tc, a_limit_before_the_first_record_counts);
	tcase_add_test(tc, a_limit_on_data_is_none_on_all);
	tcase_add_test(tc, a_limit_that_was_there_is_not_looked_at_again);
	tcase_add_test(tc, a_confined_program_is_recorded_without_a_question);
	tcase_add_test(tc, what_is_lost_behind_seccomp_has_its_reason);
	tcase_add_test(tc, who_is_not_confined_after_all_goes_on);
	tcase_add_loop_test(tc, without_a_clock_nothing_is_recorded, 0, 2);
	return unit_run(tc, "agent limits");
}
