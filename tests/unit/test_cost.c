/* SPDX-License-Identifier: Apache-2.0 */
/* What our own work costs the program's threads: samples, and what is rare. */
#include "agent/core/cost.h"
#include "agent/core/emit_short.h"
#include "agent/core/rare.h"
#include "base/own_thread.h"
#include "tests/unit/emit_bench.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#define CAP (3 << 20)

static void burn_ns(int64_t ns)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + ns;

	while (sys_clock_ns(CLOCK_MONOTONIC) < until)
		;
}

START_TEST(one_in_so_many_is_due)
{
	uint64_t events = 0, turns = 2000;

	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	for (uint64_t i = 0; i < turns; i++) {
		while (!emit_is_timed(thread_mine))
			events++;
		cost_end(cost_begin(), COST_ALLOC);
		events++;
	}
	ck_assert_uint_eq(bench_info()->cost[COST_ALLOC].samples, turns);
	ck_assert_uint_gt(events, turns * COST_EVERY * 3 / 4);
	ck_assert_uint_lt(events, turns * COST_EVERY * 5 / 4);
}
END_TEST

/* It would stand for many. */
START_TEST(a_long_sample_is_cut_short)
{
	struct cost_span span;

	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	span = cost_begin();
	burn_ns(3000000);
	cost_end(span, COST_FREE);
	ck_assert_uint_le(bench_info()->cost[COST_FREE].ticks, 65536);
}
END_TEST

START_TEST(what_is_rare_is_no_part_of_a_sample)
{
	struct cost_span span;
	struct rare rare, inner;
	int64_t begun;
	uint64_t ns;

	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	rare_take();
	errno = 4711;
	begun = sys_clock_ns(CLOCK_MONOTONIC);
	span = cost_begin();
	rare_begin(&rare);
	rare_begin(&inner); /* counts once */
	burn_ns(3000000);
	rare_end(&inner);
	rare_end(&rare);
	cost_end(span, COST_OP);
	ck_assert_int_eq(errno, 4711);
	ns = rare_take();
	ck_assert_uint_ge(ns, 3000000);
	ck_assert_int_le((int64_t)ns, sys_clock_ns(CLOCK_MONOTONIC) - begun);
	ck_assert_uint_lt(bench_info()->cost[COST_OP].ticks, 65536);
}
END_TEST

START_TEST(a_wait_in_it_counts)
{
	struct rare rare;

	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	rare_take();
	rare_begin(&rare);
	sys_nap(50000000);
	rare_end(&rare);
	ck_assert_uint_ge(rare_take(), 50000000);
}
END_TEST

START_TEST(our_own_threads_cost_the_program_nothing)
{
	struct rare rare;

	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	rare_take();
	own_thread_mine = true;
	rare_begin(&rare);
	burn_ns(1000000);
	rare_end(&rare);
	own_thread_mine = false;
	ck_assert_uint_eq(rare_take(), 0);
}
END_TEST

static char *page;
static bool midway;

static void look_inside(int signal)
{
	(void)signal;
	midway = thread_midway();
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* When a window's descriptor is written to, as a handler sees it that forks just then. */
static bool is_midway_in(void (*add)(void))
{
	struct sigaction action = { .sa_handler = look_inside }, old;

	page = (char *)((uintptr_t)bench_info()->cost & ~4095ul);
	midway = false;
	sigaction(SIGSEGV, &action, &old);
	ck_assert_int_eq(mprotect(page, 4096, PROT_READ), 0);
	add();
	sigaction(SIGSEGV, &old, NULL);
	return midway;
}

static void add_sample(void)
{
	cost_end(cost_begin(), COST_SAMPLE);
}

/* Else the child has the parent's address, and nothing there. */
START_TEST(who_forks_meanwhile_keeps_the_window)
{
	uint64_t samples;

	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	samples = bench_info()->cost[COST_SAMPLE].samples;
	ck_assert(is_midway_in(add_sample));
	ck_assert_uint_eq(bench_info()->cost[COST_SAMPLE].samples, samples + 1);
	ck_assert(!thread_midway());
}
END_TEST

/* A handler that interrupts a record adds to the window that the record holds. */
START_TEST(who_is_in_a_record_stays_in_it)
{
	struct thread *t;

	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	t = emit_enter(REC_OP);
	ck_assert_ptr_nonnull(t);
	add_sample();
	ck_assert_uint_eq(bench_info()->cost[COST_SAMPLE].samples, 1);
	ck_assert(thread_midway());
	emit_leave(t);
}
END_TEST

/* A child of fork begins a spool of its own. */
START_TEST(what_was_rare_is_told_once)
{
	struct rare rare;

	rare_take();
	rare_begin(&rare); /* before there is a spool */
	burn_ns(1000000);
	rare_end(&rare);
	ck_assert_uint_ge(rare_take(), 1000000);
	ck_assert_uint_eq(rare_take(), 0);
}
END_TEST

START_TEST(what_a_window_cost_stays_when_it_goes)
{
	bench_open(0, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	spool.head->rare_ns = 0;
	bench_info()->rare_ns = 1000;
	bench_info()->cost[COST_OP].ticks = 10000000;
	bench_info()->cost[COST_CALL].ticks = 10000000;
	cost_keep(bench_info());
	ck_assert_double_eq_tol(
		(double)spool.head->rare_ns,
		1000 + (COST_EVERY + 1) * 1e7 * 1e9 / clock_rate(spool.head), 1e6);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cost");

	tcase_add_test(tc, one_in_so_many_is_due);
	tcase_add_test(tc, a_long_sample_is_cut_short);
	tcase_add_test(tc, what_is_rare_is_no_part_of_a_sample);
	tcase_add_test(tc, a_wait_in_it_counts);
	tcase_add_test(tc, our_own_threads_cost_the_program_nothing);
	tcase_add_test(tc, who_forks_meanwhile_keeps_the_window);
	tcase_add_test(tc, who_is_in_a_record_stays_in_it);
	tcase_add_test(tc, what_was_rare_is_told_once);
	tcase_add_test(tc, what_a_window_cost_stays_when_it_goes);
	return unit_run(tc, "cost");
}
