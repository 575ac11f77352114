/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/spool_image.h"

#define DEEPEST 20000

/* What readers want of a row: each slice inside the one it lies in, or behind it, with
 * 1 ns between. Returns how many slices there are. */
static unsigned check_nesting(const struct spool_image *m, unsigned tid)
{
	static struct slice open[DEEPEST];
	const char *line = strstr(m->text, "\"traceEvents\": [");
	unsigned depth = 0, slices = 0, bad = 0;
	uint64_t behind = 0;

	for (; (line = strstr(line, "\n{\"ph\":\"X\"")); line++) {
		struct slice s;

		if (!strncmp(line + 11, "\"cat\":\"Trace\"", 13))
			continue;
		s = image_slice(line + 1);
		if (s.tid != tid)
			continue;
		slices++;
		while (depth && s.begin > open[depth - 1].end)
			behind = open[--depth].end;
		bad += depth &&
		       (s.begin < open[depth - 1].begin || s.end >= open[depth - 1].end);
		bad += behind && s.begin <= behind;
		behind = 0;
		open[depth++] = s;
		ck_assert_uint_lt(depth, DEEPEST);
	}
	ck_assert_uint_eq(bad, 0);
	return slices;
}

START_TEST(slices_keep_their_times)
{
	struct spool_image *m = image_new(1000, 100000);
	struct slice a, b;

	image_thread(m, 7, 1, "main");
	image_op(m, "aten::mm", 2000, 9000);
	image_op(m, "aten::t", 3000, 4001);
	image_write(m);
	a = image_find(m, "aten::mm", 0);
	b = image_find(m, "aten::t", 0);
	ck_assert_uint_eq(a.begin, 2000);
	ck_assert_uint_eq(a.end, 9000);
	ck_assert_uint_eq(b.begin, 3000);
	ck_assert_uint_eq(b.end, 4001);
	ck_assert_uint_eq(a.tid, 7);
	ck_assert(!a.cut && !b.cut);
	image_free(m);
}
END_TEST

START_TEST(a_margin_is_made_between_slices)
{
	struct spool_image *m = image_new(1000, 100000);
	struct slice a, b, c;

	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 9000);
	image_op(m, "b", 3000, 9000);
	image_op(m, "c", 9000, 9500);
	image_write(m);
	a = image_find(m, "a", 0);
	b = image_find(m, "b", 0);
	c = image_find(m, "c", 0);
	ck_assert_uint_eq(a.end, 9000);
	ck_assert_uint_eq(b.end, 8999);
	ck_assert_uint_eq(c.begin, 9001);
	ck_assert_uint_eq(c.end, 9500);
	image_free(m);
}
END_TEST

START_TEST(what_overlaps_is_clipped_not_dropped)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 9000);
	image_op(m, "b", 3000, 12000);
	image_op(m, "c", 8000, 13000);
	image_op(m, "d", 9500, 11000);
	image_write(m);
	ck_assert_uint_eq(check_nesting(m, 7), 4);
	ck_assert_uint_eq(image_find(m, "b", 0).end, 8999);
	ck_assert_uint_eq(image_find(m, "c", 0).end, 8998);
	ck_assert_uint_eq(image_find(m, "d", 0).begin, 9500);
	image_free(m);
}
END_TEST

START_TEST(open_slices_are_cut_at_the_seal)
{
	struct spool_image *m = image_new(1000, 100000);
	struct slice a, b, c;

	image_thread(m, 7, 1, "main");
	image_op(m, "open", 2000, 0);
	image_op(m, "later", 3000, 100500); /* ended behind the seal: open at it */
	image_op(m, "done", 4000, 5000);
	image_write(m);
	a = image_find(m, "open", 0);
	b = image_find(m, "later", 0);
	c = image_find(m, "done", 0);
	ck_assert_uint_eq(a.end, 100000);
	ck_assert_uint_eq(b.end, 99999);
	ck_assert(a.cut && b.cut && !c.cut);
	image_free(m);
}
END_TEST

START_TEST(a_killed_process_shows_what_was_in_flight)
{
	struct spool_image *m = image_new(1000, 0);
	struct slice a, b;

	m->info->state = CYCLE_OPEN;
	image_thread(m, 7, 1, "main");
	image_op(m, "outer", 2000, 0);
	image_op(m, "done", 3000, 4000);
	image_op(m, "last", 7000, 0);
	image_write(m);
	a = image_find(m, "outer", 0);
	b = image_find(m, "last", 0);
	ck_assert(a.cut && b.cut);
	ck_assert_uint_eq(b.begin, 7000);
	ck_assert_uint_ge(a.end, 7001);
	image_free(m);
}
END_TEST

START_TEST(what_begins_behind_the_seal_is_late)
{
	struct spool_image *m = image_new(1000, 10000);

	image_thread(m, 7, 1, "main");
	image_op(m, "in", 2000, 3000);
	image_op(m, "late", 10000, 11000);
	image_write(m);
	ck_assert_ptr_null(image_event(m, "late", 0));
	ck_assert_uint_eq(m->result.events[REC_OP], 1);
	ck_assert_uint_eq(m->result.drops[REC_OP], 1);
	ck_assert_ptr_nonnull(
		strstr(m->text, "\"drop reasons\": {\"after the window's end\": 1}"));
	image_free(m);
}
END_TEST

START_TEST(what_began_before_the_window_is_clipped)
{
	struct spool_image *m = image_new(1000, 10000);

	image_thread(m, 7, 1, "main");
	image_op(m, "early", 500, 3000);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "early", 0).begin, 1000);
	image_free(m);
}
END_TEST

START_TEST(steps_of_a_microsecond_stay_apart)
{
	struct spool_image *m = image_new(1000, 3001000);

	image_thread(m, 7, 1, "main");
	for (int64_t i = 0; i < 3000; i++) {
		uint64_t at = 1000 + (uint64_t)i * 1000;

		image_step(m, 5 + i, at, at + 1000);
		image_op(m, "op", at, at + 1000);
	}
	image_write(m);
	ck_assert_uint_eq(check_nesting(m, 7), 6000);
	ck_assert_uint_eq(m->result.steps, 3000);
	ck_assert_ptr_nonnull(image_event(m, "ProfilerStep#3004", 0));
	ck_assert_ptr_null(image_event(m, "ProfilerStep#3005", 0));
	image_free(m);
}
END_TEST

START_TEST(ten_thousand_levels_nest)
{
	struct spool_image *m = image_new(1000, 200000);

	image_thread(m, 7, 1, "main");
	/* All still open at the seal: each must end 1 ns before the one around it. */
	for (unsigned i = 0; i < 10000; i++)
		image_op(m, "deep", 1000 + i, 0);
	image_write(m);
	ck_assert_uint_eq(check_nesting(m, 7), 10000);
	image_free(m);
}
END_TEST

START_TEST(a_crowd_in_one_nanosecond_loses_nothing)
{
	struct spool_image *m = image_new(1000, 10000);
	struct slice outer, inner;

	image_thread(m, 7, 1, "main");
	image_op(m, "outer", 5000, 5001);
	for (unsigned i = 0; i < 50; i++)
		image_op(m, "inner", 5000, 5001);
	image_op(m, "next", 5002, 5003);
	image_write(m);
	outer = image_find(m, "outer", 0);
	for (unsigned i = 0; i < 50; i++) {
		inner = image_find(m, "inner", i);
		ck_assert(inner.begin >= outer.begin && inner.end <= outer.end);
	}
	ck_assert_uint_gt(image_find(m, "next", 0).begin, outer.end);
	image_free(m);
}
END_TEST

START_TEST(an_own_profiler_has_the_steps)
{
	struct spool_image *m = image_new(1000, 100000);
	struct rec_op *a;

	image_thread(m, 7, 1, "main");
	image_step(m, 3, 1000, 5000);
	a = image_op(m, "ProfilerStep#77", 6000, 9000);
	a->r.kind = REC_ANNOTATION;
	image_step(m, 4, 8000, 12000);
	image_step(m, 5, 12000, 20000);
	image_write(m);
	ck_assert_ptr_nonnull(image_event(m, "ProfilerStep#3", 0));
	ck_assert_ptr_nonnull(image_event(m, "ProfilerStep#77", 0));
	ck_assert_ptr_null(image_event(m, "ProfilerStep#4", 0));
	ck_assert_ptr_nonnull(image_event(m, "ProfilerStep#5", 0));
	ck_assert_uint_eq(m->result.steps, 3); /* as many as the file has */
	image_free(m);
}
END_TEST

/* One that begins as ours ends is no step of the same time. */
START_TEST(steps_that_touch_are_two)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_step(m, 3, 1000, 6000);
	image_op(m, "ProfilerStep#77", 6000, 9000)->r.kind = REC_ANNOTATION;
	image_step(m, 4, 9000, 12000);
	image_write(m);
	ck_assert_ptr_nonnull(image_event(m, "ProfilerStep#3", 0));
	ck_assert_ptr_nonnull(image_event(m, "ProfilerStep#77", 0));
	ck_assert_ptr_nonnull(image_event(m, "ProfilerStep#4", 0));
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("rows");

	tcase_add_test(tc, slices_keep_their_times);
	tcase_add_test(tc, a_margin_is_made_between_slices);
	tcase_add_test(tc, what_overlaps_is_clipped_not_dropped);
	tcase_add_test(tc, open_slices_are_cut_at_the_seal);
	tcase_add_test(tc, a_killed_process_shows_what_was_in_flight);
	tcase_add_test(tc, what_begins_behind_the_seal_is_late);
	tcase_add_test(tc, what_began_before_the_window_is_clipped);
	tcase_add_test(tc, steps_of_a_microsecond_stay_apart);
	tcase_add_test(tc, ten_thousand_levels_nest);
	tcase_add_test(tc, a_crowd_in_one_nanosecond_loses_nothing);
	tcase_add_test(tc, an_own_profiler_has_the_steps);
	tcase_add_test(tc, steps_that_touch_are_two);
	return unit_run(tc, "writer rows");
}
