/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds whenever somebody else comes: each call is stopped behind each of its
 * instructions, and there a window ends, a chunk is taken, a reader looks.
 */
#include "agent/core/counters.h"
#include "agent/core/names.h"
#include "agent/core/spool_view.h"
#include "tests/unit/emit_bench.h"
#include "tests/unit/seam.h"
#include "tests/unit/step.h"

#define CAP (1 << 20)

static struct thread *got;
static struct record old;
static uint64_t next_at;
static bool was_quiet; /* when the window ended: its writer need not wait */

static void close_window(void)
{
	gate_set(2, next_at);
	was_quiet = thread_quiet(1);
}

static void open_window(void)
{
	gate_set(1, next_at);
	got = NULL;
}

/* A window, and a first chunk in it. */
static void begin(unsigned way)
{
	bench_open(way, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	next_at = bench_descriptor(2);
	open_window();
}

/* ---- enter ---- */

static void enter(void)
{
	got = emit_enter(REC_OP);
}

static void enter_ready(void)
{
	got = emit_ready(64);
}

/* Who is in holds the window's writer off; who is not does not. */
static void check_entered(void (*call)(void))
{
	unsigned in = 0, out = 0;

	for (unsigned k = 0; step_run(call, k, close_window); k++) {
		uint64_t cycle = atomic_load(&thread_mine->emitting);

		ck_assert_int_eq(cycle != 0, got != NULL);
		ck_assert(cycle != 1 || !was_quiet);
		*(cycle == 1 ? &in : &out) += 1;
		if (got)
			emit_leave(got);
		open_window();
	}
	ck_assert_uint_gt(in, 0);
	ck_assert_uint_gt(out, 0);
}

START_TEST(a_window_may_end_while_it_is_entered)
{
	begin((unsigned)_i);
	check_entered(enter);
}
END_TEST

START_TEST(a_window_may_end_while_it_is_entered_the_short_way)
{
	begin(WAY_OWN);
	if (clock_kind != CLOCK_TSC || gate_fences)
		return;
	check_entered(enter_ready);
}
END_TEST

/* The store that says who writes comes before the look at the gate: without membarrier a
 * fence has to see to that, and before the look at whether the writer was there. */
START_TEST(fences_are_where_membarrier_is_not)
{
	unsigned fences = _i & WAY_FENCES ? 1 : 0;

	begin((unsigned)_i);
	ck_assert_int_eq(gate_fences, fences);
	step_run(enter, 0, NULL);
	ck_assert_uint_eq(step.fences, fences);
	emit_leave(got);
}
END_TEST

static void commit(void)
{
	struct record *r = emit_reserve(got, REC_FREE, sizeof(*r));

	emit_commit(got, r, REC_FREE, 0, sizeof(*r));
}

START_TEST(a_commit_is_fenced_as_well)
{
	begin((unsigned)_i);
	got = emit_enter(REC_FREE);
	step_run(commit, 0, NULL);
	ck_assert_uint_eq(step.fences, _i & WAY_FENCES ? 1 : 0);
	ck_assert_uint_eq(bench_records(REC_FREE), 1);
}
END_TEST

/* A window ends while a thread's very first record makes its state. */
static bool end_it(long nr, const long a[6], long *result)
{
	(void)a;
	(void)result;
	if (nr == SYS_gettid)
		close_window();
	return false;
}

START_TEST(a_window_may_end_while_a_state_is_made)
{
	bench_open(0, CAP);
	bench_cycle(1);
	next_at = bench_descriptor(2);
	seam = end_it;
	ck_assert_ptr_null(emit_enter(REC_OP));
	ck_assert_uint_eq(atomic_load(&thread_mine->emitting), 0);
	ck_assert(emit_one(1));
	ck_assert_uint_eq(thread_mine->chunk->cycle, 2);
}
END_TEST

/* ---- ends ---- */

START_TEST(an_end_in_the_middle_of_a_record_waits_for_nobody)
{
	begin((unsigned)_i);
	old.kind = REC_OP;
	emit_end(&old, 1, 7);
	ck_assert_uint_eq(old.end, 7);
	got = emit_enter(REC_OP);
	emit_end(&old, 1, 8); /* in a handler: counted, as an event would be */
	ck_assert_uint_eq(old.end, 7);
	ck_assert_uint_eq(atomic_load(&got->emitting), 1);
	ck_assert_uint_eq(bench_info()->whys[DROP_NESTED], 1);
	emit_end(&old, 9, 8); /* of a window that is over: not even that */
	ck_assert_uint_eq(bench_info()->whys[DROP_NESTED], 1);
	emit_leave(got);
	emit_end(&old, 9, 8);
	ck_assert_uint_eq(old.end, 7);
	ck_assert_uint_eq(atomic_load(&got->emitting), 0);
}
END_TEST

/* ---- the gate ---- */

static uint64_t place[2];

static void set_second(void)
{
	gate_set(2, place[1]);
}

static void see_its_own_descriptor(void)
{
	uint64_t cycle = gate_cycle();

	if (cycle == 2)
		ck_assert_uint_eq(emit_info()->number, cycle);
}

START_TEST(a_window_is_never_seen_with_the_descriptor_before)
{
	bench_open(0, CAP);
	place[0] = bench_descriptor(1);
	place[1] = bench_descriptor(2);
	gate_set(1, place[0]);
	step_each(set_second, see_its_own_descriptor);
	ck_assert_uint_eq(gate_cycle(), 2);
}
END_TEST

/* ---- chunks ---- */

static uint64_t taken[8];

static void take_one(void)
{
	taken[0] = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
}

/* Takes two, and gives the first back: the top is what it was, what follows is not. */
static void take_two_give_one(void)
{
	taken[1] = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	taken[2] = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	chunk_give(taken[1]);
}

START_TEST(no_chunk_is_given_to_two)
{
	bool more = true;

	bench_open(0, CAP);
	for (unsigned k = 0; more; k++) {
		uint64_t three[3];

		for (int i = 0; i < 3; i++)
			three[i] = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
		for (int i = 0; i < 3; i++)
			chunk_give(three[i]);
		more = step_run(take_one, k, take_two_give_one);
		for (int i = 3; i < 8; i++)
			taken[i] = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
		taken[1] = 0; /* given back */
		for (int i = 0; i < 8; i++)
			for (int j = 0; more && j < i; j++)
				ck_assert(!taken[i] || taken[i] != taken[j]);
		chunk_forget();
		atomic_store(&spool.head->used, SPOOL_HEADER);
	}
}
END_TEST

static unsigned chunks_of(enum chunk_kind kind)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;
	unsigned n = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at)))
		n += c->kind == kind;
	return n;
}

static struct chunk_fill fill;

static void make_room(void)
{
	chunk_room(&fill, CHUNK_NAMES, 64, 4);
}

static void take_counters(void)
{
	counters_take();
}

/* Two that need a first chunk at once: one of the two goes back. */
START_TEST(of_two_first_chunks_one_goes_back)
{
	void (*call)(void) = _i ? take_counters : make_room;
	enum chunk_kind kind = _i ? CHUNK_COUNTERS : CHUNK_NAMES;
	bool more = true;

	bench_open(0, CAP);
	/* Counters are cleared in between: that is many steps of one kind. */
	for (unsigned k = 0; more; k += _i ? 97 : 1) {
		more = step_run(call, k, call);
		ck_assert_uint_eq(chunks_of(kind), 1);
		chunk_forget();
		memset(chunk_at(SPOOL_HEADER), 0, 4 * CHUNK_LARGE);
		atomic_store(&spool.head->used, SPOOL_HEADER);
		atomic_store(&spool.head->counters, 0);
		fill = (struct chunk_fill){ 0 };
	}
}
END_TEST

/* ---- facts ---- */

static void add_fact(void)
{
	spool_fact("second", "\"two\"");
}

static void read_facts(void)
{
	const char *text = spool.head->facts;

	ck_assert(!strcmp(text, "first = 1\n") ||
		  !strcmp(text, "first = 1\nsecond = \"two\"\n"));
}

START_TEST(nobody_reads_half_of_a_fact)
{
	bench_open(0, CAP);
	spool_fact("first", "1");
	step_each(add_fact, read_facts);
	ck_assert_str_eq(spool.head->facts, "first = 1\nsecond = \"two\"\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core order");

	unit_not_under_thread_sanitizer("its own code would be stopped as well");
	tcase_add_loop_test(tc, a_window_may_end_while_it_is_entered, 0, WAYS);
	tcase_add_test(tc, a_window_may_end_while_it_is_entered_the_short_way);
	tcase_add_loop_test(tc, fences_are_where_membarrier_is_not, 0, WAYS);
	tcase_add_loop_test(tc, a_commit_is_fenced_as_well, 0, WAYS);
	tcase_add_test(tc, a_window_may_end_while_a_state_is_made);
	tcase_add_loop_test(tc, an_end_in_the_middle_of_a_record_waits_for_nobody, 0,
			    WAYS);
	tcase_add_test(tc, a_window_is_never_seen_with_the_descriptor_before);
	tcase_add_test(tc, no_chunk_is_given_to_two);
	tcase_add_loop_test(tc, of_two_first_chunks_one_goes_back, 0, 2);
	tcase_add_test(tc, nobody_reads_half_of_a_fact);
	return unit_run(tc, "core order");
}
