/* SPDX-License-Identifier: Apache-2.0 */
/* Which of our threads are there, and what is done where they cannot be. */
#include "agent/core/chunk.h"
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/thread.h"
#include "base/own_thread.h"
#include "base/sys.h"
#include "tests/unit/said.h"
#include "tests/unit/seam.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"
#include "writer/ahead.h"
#include "writer/crew.h"
#include "writer/writer.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned tables_asked;
static pthread_t keeper_self;

static bool forbid_tables(long nr, const long a[6], long *result)
{
	(void)a;
	*result = -EPERM;
	tables_asked += nr == SYS_unshare;
	return nr == SYS_close_range_nr || nr == SYS_unshare;
}

static int64_t (*tick)(void);

static void begin(const char *marker, bool alone)
{
	static struct config config;

	clock_start();
	gate_start();
	ck_assert_int_eq(thread_start(), 0);
	ck_assert_int_eq(spool_open(NULL, 4 << 20), 0);
	config_defaults(&config);
	strcpy(config.marker, marker);
	ck_assert_int_eq(writer_start(&config, &(struct writer_hooks){ .tick = tick,
								       .alone = alone }),
			 0);
}

/* A window that nobody has written. */
static void seal_one(void)
{
	uint64_t at = chunk_take(CHUNK_CYCLE, sizeof(struct cycle_info), 1);
	struct cycle_info *info = (struct cycle_info *)(chunk_at(at) + 1);

	memset(info, 0, sizeof(*info));
	info->number = 1;
	info->begin = clock_ticks();
	chunk_at(at)->used = sizeof(struct chunk) + sizeof(*info);
	atomic_store(&info->state, CYCLE_SEALED);
}

static void *do_nothing(void *arg)
{
	crew_begins(CREW_FORMATTER);
	crew_ends(CREW_FORMATTER);
	return arg;
}

/* The longer it has been so, the more seldom it is tried. */
START_TEST(who_gets_no_table_is_not_there)
{
	begin("none", true);
	seam = forbid_tables;
	ck_assert_int_eq(crew_start(CREW_FORMATTER, do_nothing), -EPERM);
	ck_assert_uint_eq(crew_there(CREW_FORMATTER), 0);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_int_eq(crew_start(CREW_FORMATTER, do_nothing), -EAGAIN);
	ck_assert_uint_eq(tables_asked, 1);
	/* Those that need none are none of this. */
	ck_assert_int_eq(crew_start(CREW_KEEPER, do_nothing), 0);
	seam = NULL;
	crew_forget();
	ck_assert_int_eq(crew_start(CREW_FORMATTER, do_nothing), 0);
}
END_TEST

/* What is sealed is recover's: the process does not wait for a thread that is not there.
 */
START_TEST(who_cannot_write_is_not_waited_for)
{
	begin("none", true);
	seal_one();
	seam = forbid_tables;
	/* Were it waited for, this would not end. */
	ck_assert(!writer_drain(INT64_MAX / 2));
	ck_assert(!writer_drain(INT64_MAX / 2));
	seam = NULL;
}
END_TEST

/* A disk that does not answer: the formatter is there, and does not come to an end. */
START_TEST(who_does_not_end_is_not_waited_for)
{
	begin("none", true);
	seal_one();
	crew_begins(CREW_FORMATTER);
	ck_assert(!writer_drain(1000000));
}
END_TEST

/* ---- a pause ---- */

static _Atomic unsigned asked;

static bool still_there(long nr, const long a[6], long *result)
{
	(void)a;
	*result = 0;
	return nr == SYS_tgkill && atomic_fetch_add(&asked, 1) < 3;
}

static void *keep_nothing(void *arg)
{
	crew_begins(CREW_KEEPER);
	crew_ends(CREW_KEEPER);
	return arg;
}

/* It has said goodbye: unshare fails until the kernel counts it no more. */
START_TEST(a_pause_waits_for_the_kernel)
{
	begin("none", false);
	seam = still_there;
	ck_assert_int_eq(crew_start(CREW_KEEPER, keep_nothing), 0);
	while (crew_there(CREW_KEEPER))
		sched_yield();
	while (!writer_pause())
		;
	ck_assert_uint_gt(asked, 3);
	seam = NULL;
}
END_TEST

static _Atomic uint32_t ticks, inside, told;

static bool hear_wakes(long nr, const long a[6], long *result)
{
	(void)result;
	if (nr == SYS_futex && (a[1] & 1) && !pthread_equal(pthread_self(), keeper_self))
		atomic_store(&told, 1);
	return false;
}

/* A step by the clock ends a window, just when it is to leave. */
static int64_t wake_itself(void)
{
	keeper_self = pthread_self();
	if (!atomic_fetch_add(&ticks, 1)) {
		seam = hear_wakes;
		atomic_store(&inside, 1);
		while (!atomic_load(&told))
			sched_yield();
	}
	writer_wake();
	return 1000000;
}

START_TEST(a_keeper_that_wakes_itself_leaves_all_the_same)
{
	tick = wake_itself;
	begin("time:1", false);
	while (!atomic_load(&inside))
		sched_yield();
	writer_pause();
	/* It does not come back by itself. */
	while (!crew_left())
		sched_yield();
	writer_wake();
	ck_assert(crew_left());
	writer_resume();
	while (crew_left())
		sched_yield();
}
END_TEST

/* Whoever asks in between is heard behind it. */
START_TEST(who_asks_in_a_pause_is_heard_behind_it)
{
	begin("none", false);
	writer_need();
	ck_assert(writer_pause());
	writer_wake();
	ck_assert(crew_left());
	writer_resume();
	ck_assert_uint_ne(crew_there(CREW_KEEPER), 0);
	while (!writer_pause())
		;
	writer_resume();
	ck_assert(crew_left()); /* the count comes behind it */
}
END_TEST

/* The program's own errno is none of ours, whatever comes of it. */
START_TEST(who_asks_keeps_its_errno)
{
	begin("none", false);
	writer_need();
	ck_assert(writer_pause());
	errno = 7777;
	writer_wake();
	ck_assert_int_eq(errno, 7777);
	writer_resume();
	ck_assert_int_eq(errno, 7777);
}
END_TEST

/* ---- a program of one thread ---- */

static void *wait_for_the_end(void *go)
{
	while (!atomic_load((_Atomic bool *)go))
		sys_nap(1000000);
	return NULL;
}

/* It keeps its time itself. The second thread brings the keeper. */
START_TEST(a_program_of_one_thread_has_no_keeper)
{
	static _Atomic bool go;
	pthread_t other;
	uint64_t before;

	begin("none", false);
	atomic_store(&spool.head->used, SPOOL_HEADER + (2 << 20));
	before = atomic_load(&spool.head->clocks);
	writer_wanted();
	ck_assert(crew_left());
	ck_assert_uint_gt(atomic_load(&spool.head->clocks), before);
	ck_assert_int_eq(pthread_create(&other, NULL, wait_for_the_end, &go), 0);
	writer_wanted();
	ck_assert_uint_ne(crew_there(CREW_KEEPER), 0);
	atomic_store(&go, true);
	pthread_join(other, NULL);
}
END_TEST

/* What waits to be handed over brings it as well; at the program's end a finisher takes
 * that by itself. */
START_TEST(a_window_brings_the_keeper)
{
	static struct job_page own;

	job = &own; /* the keeper tells there of the window */
	begin("none", false);
	seal_one();
	atomic_store(&spool.head->used, SPOOL_HEADER + (2 << 20));
	if (_i)
		writer_last(false);
	writer_wake();
	ck_assert_int_eq(crew_left(), _i);
}
END_TEST

/* ---- a fork ---- */

/* Its parent's threads are not there. */
START_TEST(a_child_begins_with_nobody)
{
	for (unsigned who = 0; who < CREW_ALL; who++)
		crew_begins(who);
	crew_forget();
	for (unsigned who = 0; who < CREW_ALL; who++)
		ck_assert_uint_eq(crew_there(who), 0);
}
END_TEST

/* Its first moments come closely, as those of any process. */
START_TEST(a_child_takes_the_time_at_once)
{
	uint64_t before;

	begin("none", false);
	while (ahead_time(false) < 200000000)
		sys_nap(1000000); /* further and further apart */
	before = atomic_load(&spool.head->clocks);
	writer_forget();
	ck_assert_int_le(ahead_time(false), 2000000);
	ck_assert_uint_eq(atomic_load(&spool.head->clocks), before + 1);
}
END_TEST

/* ---- memory ahead ---- */

/* Before Linux 5.14. */
static void reserve_now(void)
{
	spool_reserve(AHEAD_MOST);
}

/* What was recorded before the first look is no growth. */
START_TEST(the_first_look_knows_no_growth)
{
	uint64_t used = 16 << 20;

	clock_start();
	gate_start();
	ck_assert_int_eq(spool_open(NULL, 256 << 20), 0);
	atomic_store(&spool.head->used, used);
	ahead_memory(reserve_now);
	ck_assert_uint_gt(atomic_load(&spool.head->ready), used);
	ck_assert_uint_lt(atomic_load(&spool.head->ready), used + (1 << 20));
}
END_TEST

static _Atomic unsigned refusals;

static bool refuse_memory(long nr, const long a[6], long *result)
{
	(void)a;
	*result = -ENOSPC;
	refusals += nr == SYS_madvise;
	return nr == SYS_madvise;
}

/* It looks often: what it has to say is said once. */
START_TEST(a_full_disk_is_said_once)
{
	begin("none", false);
	atomic_store(&spool.head->used, (1 << 20) + 4096);
	seam = refuse_memory;
	said_start();
	for (unsigned i = 0; i < 3; i++)
		ahead_memory(reserve_now);
	seam = NULL;
	ck_assert_uint_eq(said_lines(said()), 1);
	ck_assert_uint_eq(refusals, 3);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("crew");

	unit_not_under_thread_sanitizer("it has threads of its own");
	tcase_add_test(tc, who_gets_no_table_is_not_there);
	tcase_add_test(tc, who_cannot_write_is_not_waited_for);
	tcase_add_test(tc, who_does_not_end_is_not_waited_for);
	tcase_add_test(tc, a_pause_waits_for_the_kernel);
	tcase_add_test(tc, a_keeper_that_wakes_itself_leaves_all_the_same);
	tcase_add_test(tc, who_asks_in_a_pause_is_heard_behind_it);
	tcase_add_test(tc, a_program_of_one_thread_has_no_keeper);
	tcase_add_loop_test(tc, a_window_brings_the_keeper, 0, 2);
	tcase_add_test(tc, a_child_takes_the_time_at_once);
	tcase_add_test(tc, who_asks_keeps_its_errno);
	tcase_add_test(tc, a_child_begins_with_nobody);
	tcase_add_test(tc, the_first_look_knows_no_growth);
	tcase_add_test(tc, a_full_disk_is_said_once);
	return unit_run(tc, "crew");
}
