/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler on a real spool; what it would cause elsewhere is only counted. */
#include "agent/core/emit.h"
#include "agent/core/log.h"
#include "agent/core/sys.h"
#include "agent/sched/cycle.h"
#include "agent/sched/sched.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	unsigned observe_on, observe_off, arm, sealed, begin;
	bool observing;
} did;

static void observe(bool on)
{
	if (on != did.observing)
		*(on ? &did.observe_on : &did.observe_off) += 1;
	did.observing = on;
}

static void arm(void)
{
	did.arm++;
}

static void sealed(void)
{
	did.sealed++;
}

static bool begin(void)
{
	did.begin++;
	return true;
}

static void start_sized(const char *schedule, const char *marker, uint64_t cap)
{
	static struct config config;
	struct sched_actions actions = { observe, arm, sealed, begin, NULL };

	clock_start();
	ck_assert_int_eq(gate_start(), 0);
	ck_assert_int_eq(thread_start(), 0);
	spool_open(NULL, cap);
	ck_assert_int_eq(spool_prepare(cap), 0);
	config_defaults(&config);
	config.quiet = log_quiet = true;
	strcpy(config.schedule, schedule);
	strcpy(config.marker, marker);
	clock_sample(spool.head);
	sched_start(&config, &actions);
	sched_main();
}

static void start(const char *schedule, const char *marker)
{
	start_sized(schedule, marker, 16 << 20);
}

/* An event as the observer brings it: the follow word first. */
static void event(void)
{
	if (atomic_load(sched_follow) != sched_followed)
		sched_follow_changed();
}

static void annotation(const char *name)
{
	event();
	sched_end(sched_begin(name, strlen(name)));
}

#define NEXT "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define STEP "Optimizer.step#SGD.step"

static void iteration(void)
{
	annotation(NEXT);
	sched_backward();
	annotation(STEP);
}

/* ---- what lies in the spool ---- */

static struct cycle_info *cycle(uint64_t number)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at)))
		if (atomic_load(&((struct chunk *)c)->kind) == CHUNK_CYCLE &&
		    c->cycle == number)
			return (struct cycle_info *)(c + 1);
	return NULL;
}

/* The steps of a cycle as text: "2 3 4*"; a star for one that is not finished. */
static const char *steps(uint64_t number)
{
	static char text[256];
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;
	char *p = text;

	*p = 0;
	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at))) {
		if (atomic_load(&((struct chunk *)c)->kind) != CHUNK_DATA ||
		    c->cycle != number)
			continue;
		for (uint32_t i = sizeof(*c);
		     i < atomic_load(&((struct chunk *)c)->used);) {
			const struct rec_step *r = (const void *)((const uint8_t *)c + i);

			if (r->r.kind == REC_STEP)
				p += sprintf(p, "%s%ld%s", p == text ? "" : " ",
					     (long)r->number, r->r.end ? "" : "*");
			i += r->r.units * 8;
		}
	}
	return text;
}

static void is_cycle(uint64_t number, enum cycle_state state, const char *want)
{
	struct cycle_info *c = cycle(number);

	ck_assert_msg(c, "there is no cycle %d", (int)number);
	ck_assert_uint_eq(atomic_load(&c->state), state);
	ck_assert_str_eq(steps(number), want);
}

static void no_cycle(uint64_t number)
{
	ck_assert_ptr_null(cycle(number));
}

/* ---- plans ---- */

START_TEST(windows_come_as_planned)
{
	start("skip_first=1,wait=1,warmup=1,active=2,repeat=2", "auto");
	for (unsigned i = 0; i < 12; i++)
		sched_step();
	is_cycle(1, CYCLE_SEALED, "3 4");
	is_cycle(2, CYCLE_SEALED, "7 8");
	no_cycle(3);
	ck_assert_int_eq(cycle(2)->first_step, 7);
	ck_assert_uint_eq(did.arm, 2);
	ck_assert_uint_eq(did.sealed, 2);
	ck_assert_uint_eq(did.observe_on, 2);
	ck_assert(!did.observing);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 12);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.windows), 2);
	ck_assert_str_eq(spool.head->sched.chosen, "proflaunch_step()");
	sched_exit();
	no_cycle(3);
}
END_TEST

START_TEST(back_to_back_windows_leave_no_gap)
{
	int64_t stamp = 0;

	start("active=1", "auto");
	for (unsigned i = 0; i < 50; i++) {
		sched_step();
		ck_assert_uint_eq(gate_cycle(), i + 2);
	}
	sched_exit();
	for (unsigned i = 1; i <= 51; i++) {
		char want[8];

		sprintf(want, "%u", i - 1);
		is_cycle(i, CYCLE_SEALED, want);
		ck_assert_int_gt(cycle(i)->stamp_ns, stamp);
		stamp = cycle(i)->stamp_ns;
		ck_assert_uint_gt(cycle(i)->end, cycle(i)->begin);
		if (i > 1)
			ck_assert_uint_eq(cycle(i)->begin, cycle(i - 1)->end);
	}
	ck_assert_uint_eq(did.observe_off, 0); /* libtorch may be gone at exit */
	ck_assert_uint_eq(gate_cycle(), 0);
}
END_TEST

START_TEST(a_partial_window_at_exit_is_kept)
{
	start("wait=1,active=5", "auto");
	sched_step();
	sched_step();
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "1 2");
	sched_step();
	no_cycle(2);
}
END_TEST

START_TEST(a_warm_up_at_exit_is_not)
{
	start("wait=1,warmup=5,active=5", "auto");
	sched_step();
	sched_step();
	sched_exit();
	ck_assert_uint_eq(did.arm, 1);
	no_cycle(1);
}
END_TEST

START_TEST(an_open_step_is_unfinished)
{
	start("active=5", "auto");
	sched_step();
	is_cycle(1, CYCLE_OPEN, "0 1*");
}
END_TEST

START_TEST(no_room_for_a_window_is_counted)
{
	start_sized("wait=1,active=1", "auto", 1 << 20);
	while (chunk_take(CHUNK_DATA, CHUNK_SMALL, 99))
		;
	sched_step();
	ck_assert_uint_eq(gate_cycle(), 0);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.missed), 1);
	sched_step();
	sched_step();
	ck_assert_uint_eq(atomic_load(&spool.head->sched.missed), 2);
}
END_TEST

/* ---- the default ---- */

START_TEST(what_is_provisional_goes_when_the_first_active_step_begins)
{
	start("", "auto");
	sched_torch_found();
	ck_assert(did.observing); /* waits for the first operator */
	event();
	ck_assert_uint_eq(gate_cycle(), 1);
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
	for (unsigned i = 0; i < 9; i++)
		iteration();
	is_cycle(1, CYCLE_DISCARDED, "0 1");
	is_cycle(2, CYCLE_SEALED, "2 3 4");
	ck_assert_uint_eq(cycle(2)->flags, 0);
	no_cycle(3);
	ck_assert(!did.observing);
	ck_assert_uint_eq(atomic_load(&spool.head->totals.discarded), 1);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.optimizer_steps), 9);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.loader_nexts), 9);
	ck_assert_str_eq(spool.head->sched.chosen,
			 "DataLoader __next__ after Optimizer.step");
}
END_TEST

START_TEST(what_is_provisional_stays_when_the_program_ends_before)
{
	start("", "auto");
	sched_torch_found();
	event();
	iteration();
	iteration();
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "0 1");
}
END_TEST

START_TEST(what_is_provisional_stays_at_the_cap)
{
	start("", "auto");
	sched_torch_found();
	event();
	atomic_fetch_add(&cycle(1)->whys[DROP_CAP], 1);
	sched_tick();
	is_cycle(1, CYCLE_SEALED, "0");
	ck_assert(!did.observing);
	for (unsigned i = 0; i < 6; i++)
		iteration();
	is_cycle(2, CYCLE_SEALED, "2 3 4");
}
END_TEST

START_TEST(at_the_cap_of_a_window_operators_are_let_go)
{
	start("active=2", "auto");
	sched_torch_found();
	event();
	ck_assert(did.observing);
	atomic_fetch_add(&cycle(1)->whys[DROP_CAP], 1);
	sched_tick();
	ck_assert(!did.observing);
	ck_assert_uint_eq(gate_cycle(), 1);
	sched_step();
	sched_step();
	ck_assert(did.observing); /* the next window */
}
END_TEST

/* ---- markers ---- */

START_TEST(nothing_is_done_while_idle)
{
	start("wait=1000,active=1", "auto");
	sched_torch_found();
	ck_assert(!did.observing);
	for (unsigned i = 0; i < 100; i++)
		iteration();
	ck_assert_uint_eq(did.observe_on, 0);
	ck_assert_uint_eq(did.arm, 0);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 99);
}
END_TEST

START_TEST(only_outermost_steps_count)
{
	start("active=1,wait=1", "auto");
	for (unsigned i = 0; i < 3; i++) {
		uint32_t outer, inner;

		sched_backward();
		outer = sched_begin(STEP, strlen(STEP));
		inner = sched_begin(STEP, strlen(STEP));
		ck_assert_uint_ne(outer, 0);
		ck_assert_uint_eq(inner, 0);
		sched_end(inner);
		sched_end(outer);
	}
	ck_assert_uint_eq(atomic_load(&spool.head->sched.optimizer_steps), 3);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 3);
}
END_TEST

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

START_TEST(edges_are_where_they_were_asked_for)
{
	uint32_t token;

	start("wait=1,active=1", _i ? "torch:work@begin" : "torch:work");
	event();
	token = sched_begin("work", 4);
	ck_assert_uint_eq(gate_cycle(), _i ? 1 : 0);
	ck_assert_uint_eq(sched_begin("work", 4), 0); /* within itself */
	sched_end(token);
	ck_assert_uint_eq(gate_cycle(), 1);
}
END_TEST

START_TEST(an_operator_marker_watches_operators)
{
	start("wait=1,active=1", "torch:aten::add@end");
	sched_torch_found();
	ck_assert(sched_wants_ops());
	ck_assert(did.observing);
	event();
	ck_assert_uint_eq(sched_op_begin("aten::mul", 9), 0);
	sched_end(sched_op_begin("aten::add", 9));
	ck_assert_uint_eq(gate_cycle(), 1);
	sched_end(sched_op_begin("aten::add", 9));
	ck_assert_uint_eq(gate_cycle(), 0);
	ck_assert(did.observing);
}
END_TEST

START_TEST(a_name_that_is_an_annotation_is_not_looked_for_in_operators)
{
	start("wait=1,active=1", "torch:my step");
	sched_torch_found();
	ck_assert(sched_wants_ops());
	annotation("my step");
	ck_assert(!sched_wants_ops());
	annotation("my step");
	ck_assert(!did.observing);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 2);
}
END_TEST

START_TEST(a_program_with_a_profiler_gets_no_rows_of_ours)
{
	start("wait=1,active=2", "auto");
	for (unsigned i = 0; i < 4; i++) {
		annotation("ProfilerStep#0");
		iteration();
	}
	is_cycle(1, CYCLE_SEALED, "");
	ck_assert_int_eq(cycle(1)->first_step, 1);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 3);
}
END_TEST

START_TEST(without_boundaries_the_run_is_one_window)
{
	start("active=1", "none");
	iteration();
	sched_step();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_WHOLE);
	is_cycle(1, CYCLE_OPEN, "");
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "");
	no_cycle(2);
}
END_TEST

START_TEST(the_clock_makes_steps)
{
	int64_t next = 0;

	start("wait=1,active=1", "time:20");
	sched_torch_found();
	no_cycle(1);
	for (unsigned i = 0; i < 8; i++) {
		usleep((useconds_t)(next / 1000));
		next = sched_tick();
		ck_assert_int_le(next, 20000000);
	}
	is_cycle(1, CYCLE_SEALED, "1");
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_TIMED);
	ck_assert_uint_ge(atomic_load(&spool.head->sched.boundaries), 6);
}
END_TEST

START_TEST(a_child_begins_anew)
{
	int status;

	start("active=1,wait=1", "auto");
	sched_step();
	ck_assert_uint_eq(gate_cycle(), 1);
	if (!fork()) {
		gate_set(0, 0);
		sched_fork_child();
		if (gate_cycle() || cycle_now)
			_exit(1);
		sched_step();
		_exit(did.begin < 2 || !cycle(2) || cycle(2)->first_step != 1);
	}
	wait(&status);
	ck_assert_int_eq(status, 0);
	sched_step();
	is_cycle(1, CYCLE_SEALED, "1");
}
END_TEST

/* ---- followers ---- */

static struct job_slot *leader;

/* Our parent has torch; we are a process of the same job. */
static void start_child(const char *schedule)
{
	job = calloc(1, sizeof(*job));
	leader = &job->slot[0];
	atomic_store(&leader->pid, (uint32_t)getppid());
	leader->start_time = sys_start_time((uint32_t)getppid());
	atomic_store(&leader->torch, 1);
	job_mine = &job->slot[1];
	atomic_store(&job_mine->pid, (uint32_t)getpid());
	start(schedule, "auto");
	sched_torch_found();
}

static void leader_opens(uint64_t number, bool provisional)
{
	struct job_window *w = &leader->window[number % JOB_WINDOWS];

	atomic_store(&w->cycle, number);
	atomic_store(&w->begin, clock_ticks());
	atomic_store(&w->end, 0);
	atomic_store(&w->fate, !provisional);
	atomic_store(&leader->gate, number);
}

static uint64_t leader_closes(uint64_t number, unsigned fate)
{
	struct job_window *w = &leader->window[number % JOB_WINDOWS];

	atomic_store(&w->end, clock_ticks());
	atomic_store(&w->fate, fate);
	atomic_store(&leader->gate, 0);
	return atomic_load(&w->end);
}

START_TEST(a_worker_records_what_its_parent_records)
{
	uint64_t begin, end;

	start_child("active=1,wait=5");
	atomic_store(&leader->boundaries, 1);
	event();
	no_cycle(1);
	ck_assert(did.observing);
	leader_opens(7, false);
	begin = atomic_load(&leader->window[7].begin);
	event();
	ck_assert_uint_eq(gate_cycle(), 1);
	ck_assert_uint_eq(cycle(1)->begin, begin);
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_CHILD);
	end = leader_closes(7, 1);
	usleep(1000);
	sched_tick();
	is_cycle(1, CYCLE_SEALED, "");
	ck_assert_uint_eq(cycle(1)->end, end);
	leader_opens(8, false);
	sched_tick();
	no_cycle(2); /* nothing happens here */
	event();
	leader_closes(8, 1);
	leader_opens(9, false);
	event();
	is_cycle(2, CYCLE_SEALED, "");
	ck_assert_uint_eq(gate_cycle(), 3);
	sched_exit();
	is_cycle(3, CYCLE_SEALED, "");
	ck_assert_uint_eq(cycle(3)->flags, CYCLE_CHILD);
}
END_TEST

START_TEST(what_the_parent_throws_away_the_worker_does_too)
{
	start_child("");
	leader_opens(1, true);
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_CHILD | CYCLE_PROVISIONAL);
	atomic_store(&leader->boundaries, 2);
	leader_closes(1, 2);
	event();
	is_cycle(1, CYCLE_DISCARDED, "");
}
END_TEST

START_TEST(a_first_boundary_makes_a_driver)
{
	start_child("");
	leader_opens(1, true);
	event();
	for (unsigned i = 0; i < 7; i++)
		iteration();
	is_cycle(1, CYCLE_DISCARDED, "0 1");
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
	is_cycle(2, CYCLE_SEALED, "2 3 4");
	ck_assert_uint_eq(cycle(2)->flags, 0);
	ck_assert_uint_eq(atomic_load(&job_mine->boundaries), 6);
	leader_closes(1, 2);
	ck_assert_uint_eq(atomic_load(sched_follow), sched_followed);
}
END_TEST

START_TEST(a_drivers_own_plan_decides_what_it_keeps)
{
	start_child(_i ? "wait=1,active=1" : "active=2");
	leader_opens(1, false);
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_CHILD);
	iteration();
	annotation(NEXT);
	if (_i) {
		is_cycle(1, CYCLE_DISCARDED, "");
		is_cycle(2, CYCLE_OPEN, "1*");
	} else {
		is_cycle(1, CYCLE_OPEN, "0 1*");
		ck_assert_uint_eq(cycle(1)->flags, 0);
	}
}
END_TEST

START_TEST(a_parent_that_only_imports_torch_leads_nobody)
{
	start_child("");
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "0");
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
}
END_TEST

START_TEST(a_parent_without_boundaries_leaves_the_window_to_us)
{
	start_child("");
	leader_opens(1, true);
	event();
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "");
	ck_assert_uint_eq(cycle(1)->flags & CYCLE_CHILD, 0);
}
END_TEST

START_TEST(a_parent_that_opens_later_leads)
{
	start_child("active=1");
	event();
	is_cycle(1, CYCLE_OPEN, "0*");
	leader_opens(3, false);
	event();
	is_cycle(1, CYCLE_DISCARDED, "0");
	ck_assert_uint_eq(cycle(2)->flags, CYCLE_CHILD);
}
END_TEST

START_TEST(a_driver_tells_its_followers)
{
	struct job_window *w;

	start_child("active=1,wait=1");
	sched_step();
	ck_assert_uint_eq(atomic_load(&job_mine->gate), 1);
	w = &job_mine->window[1];
	ck_assert_uint_eq(atomic_load(&w->cycle), 1);
	ck_assert_uint_eq(atomic_load(&w->fate), 1);
	ck_assert_uint_eq(atomic_load(&w->end), 0);
	sched_step();
	ck_assert_uint_eq(atomic_load(&job_mine->gate), 0);
	ck_assert_uint_eq(atomic_load(&w->end), cycle(1)->end);
	ck_assert_uint_eq(atomic_load(&job_mine->boundaries), 2);
}
END_TEST

static void add_plans(TCase *tc)
{
	tcase_add_test(tc, windows_come_as_planned);
	tcase_add_test(tc, back_to_back_windows_leave_no_gap);
	tcase_add_test(tc, a_partial_window_at_exit_is_kept);
	tcase_add_test(tc, a_warm_up_at_exit_is_not);
	tcase_add_test(tc, an_open_step_is_unfinished);
	tcase_add_test(tc, no_room_for_a_window_is_counted);
	tcase_add_test(tc, what_is_provisional_goes_when_the_first_active_step_begins);
	tcase_add_test(tc, what_is_provisional_stays_when_the_program_ends_before);
	tcase_add_test(tc, what_is_provisional_stays_at_the_cap);
	tcase_add_test(tc, at_the_cap_of_a_window_operators_are_let_go);
}

static void add_followers(TCase *tc)
{
	tcase_add_test(tc, a_worker_records_what_its_parent_records);
	tcase_add_test(tc, what_the_parent_throws_away_the_worker_does_too);
	tcase_add_test(tc, a_first_boundary_makes_a_driver);
	tcase_add_loop_test(tc, a_drivers_own_plan_decides_what_it_keeps, 0, 2);
	tcase_add_test(tc, a_parent_that_only_imports_torch_leads_nobody);
	tcase_add_test(tc, a_parent_without_boundaries_leaves_the_window_to_us);
	tcase_add_test(tc, a_parent_that_opens_later_leads);
	tcase_add_test(tc, a_driver_tells_its_followers);
}

int main(void)
{
	TCase *tc = tcase_create("cycle");

	add_plans(tc);
	tcase_add_test(tc, nothing_is_done_while_idle);
	tcase_add_test(tc, only_outermost_steps_count);
	tcase_add_test(tc, only_the_thread_of_the_first_boundary_counts);
	tcase_add_loop_test(tc, edges_are_where_they_were_asked_for, 0, 2);
	tcase_add_test(tc, an_operator_marker_watches_operators);
	tcase_add_test(tc, a_name_that_is_an_annotation_is_not_looked_for_in_operators);
	tcase_add_test(tc, a_program_with_a_profiler_gets_no_rows_of_ours);
	tcase_add_test(tc, without_boundaries_the_run_is_one_window);
	tcase_add_test(tc, the_clock_makes_steps);
	tcase_add_test(tc, a_child_begins_anew);
	add_followers(tc);
	return unit_run(tc, "cycle");
}
