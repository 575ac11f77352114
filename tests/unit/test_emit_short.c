/* SPDX-License-Identifier: Apache-2.0 */
/* emit_ready and emit_done: a record where nothing special is to be done for it. */
#include "tests/unit/emit_bench.h"
#include "tests/unit/step.h"

#define CAP (1 << 20)

static struct thread *got;
static uint64_t next_at;

/* A window, and a first chunk in it. */
static void begin(void)
{
	bench_open(WAY_OWN, CAP);
	bench_cycle(1);
	ck_assert(emit_one(1));
	next_at = bench_descriptor(2);
}

static void enter_ready(void)
{
	got = emit_ready(64);
}

START_TEST(the_short_way_is_for_what_is_not_special)
{
	struct thread *t;

	ck_assert_ptr_null(emit_ready(64));
	begin();
	if (clock_kind != CLOCK_TSC || gate_fences)
		return;
	t = emit_ready(64);
	ck_assert_ptr_eq(t, thread_mine);
	ck_assert_ptr_null(emit_ready(64)); /* in a handler */
	ck_assert_uint_eq(atomic_load(&t->emitting), 1);
	emit_leave(t);
	ck_assert_ptr_null(emit_ready((uint32_t)(t->limit - t->at) + 8));
	t->ordinal++;
	ck_assert_ptr_null(emit_ready(64));
	t->ordinal--;
	clock_kind = CLOCK_NS;
	ck_assert_ptr_null(emit_ready(64));
	clock_kind = CLOCK_TSC;
	gate_fences = true;
	ck_assert_ptr_null(emit_ready(64));
	gate_fences = false;
	gate_set(2, next_at);
	ck_assert_ptr_null(emit_ready(64));
	gate_set(0, 0);
	ck_assert_ptr_null(emit_ready(64));
	ck_assert_uint_eq(atomic_load(&t->emitting), 0);
}
END_TEST

static void emit_in_a_handler(void)
{
	emit_one(1);
}

/* A signal's handler records between the look at the room and the store that says who
 * writes: what was room for one record is none now. */
START_TEST(a_handler_may_take_the_room_that_was_seen)
{
	uint8_t *limit, *room;
	unsigned in = 0, out = 0;

	begin();
	if (clock_kind != CLOCK_TSC || gate_fences)
		return;
	limit = thread_mine->limit;
	room = limit - 64;
	thread_mine->at = room;
	for (unsigned k = 0; step_run(enter_ready, k, emit_in_a_handler); k++) {
		ck_assert(!got || thread_mine->limit - thread_mine->at >= 64);
		*(got ? &in : &out) += 1;
		if (got)
			emit_leave(got);
		got = NULL;
		thread_mine->limit = limit;
		thread_mine->at = room;
	}
	ck_assert_uint_gt(in, 0);
	ck_assert_uint_gt(out, 0);
}
END_TEST

START_TEST(the_short_way_sees_that_it_is_late)
{
	struct thread *t;
	struct record *r;

	begin();
	t = thread_mine;
	for (unsigned late = 0; late < 2; late++) {
		atomic_store(&t->chunk->taken, late);
		ck_assert_ptr_eq(emit_enter(REC_FREE), t);
		r = emit_reserve(t, REC_FREE, sizeof(*r));
		*r = (struct record){ 0 };
		ck_assert_int_eq(emit_done(t, r, REC_FREE, 3, sizeof(*r)), !late);
		ck_assert_uint_eq(atomic_load(&t->emitting), late);
		ck_assert_uint_eq(bench_records(REC_FREE), late + 1);
		ck_assert_uint_eq(r->flags, 3);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("emit short");

	unit_not_under_thread_sanitizer("its own code would be stopped as well");
	tcase_add_test(tc, the_short_way_is_for_what_is_not_special);
	tcase_add_test(tc, a_handler_may_take_the_room_that_was_seen);
	tcase_add_test(tc, the_short_way_sees_that_it_is_late);
	return unit_run(tc, "emit short");
}
