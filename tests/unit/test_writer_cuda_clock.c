/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's clock and ours: where calls and GPU work lie. */
#include "tests/unit/cuda_image.h"

/* Both clocks differ, and the difference changes: the moments say how. */
START_TEST(skewed_clocks_are_put_right)
{
	static const int64_t skews[] = { 2000, -2000, 1000000000 };

	for (size_t i = 0; i < sizeof(skews) / sizeof(*skews); i++) {
		struct spool_image *m;
		struct slice s;

		cuda_skew = skews[i];
		m = cuda_image(1000, 100000, 20);
		image_op(m, "first", 2000, 3000);
		image_op(m, "second", 3010, 4000);
		cuda_call(m, "launch", 1, 3020, 3990);
		cuda_kernel(m, "k", 1, 7, 5000, 6000, 0);
		image_write(m);
		s = image_find(m, "launch", 0);
		ck_assert_uint_eq(s.begin, 3020);
		ck_assert_uint_eq(s.end, 3990);
		s = image_find(m, "k", 0);
		ck_assert_uint_eq(s.begin, 5000);
		ck_assert_uint_eq(s.end, 6000);
		ck_assert_int_eq(cuda_number(m, "k", 0, "External id"), 2);
		ck_assert(image_has(m, "\"clock error ns\": 20,"));
		cuda_skew = 0;
		image_free(m);
	}
}
END_TEST

START_TEST(a_drifting_clock_is_followed)
{
	struct spool_image *m = cuda_image(1000, 101000, 5);
	struct rec_moment *moment;
	struct rec_call *c;

	/* 2 us ahead in the middle, right at both ends. */
	moment = cuda_record(m, REC_MOMENT, sizeof(*moment), NULL, 0, 53000);
	moment->r.begin = 51000;
	moment->error = 5;
	/* Somebody had the processor: this one is no use. */
	moment = cuda_record(m, REC_MOMENT, sizeof(*moment), NULL, 0, 90000);
	moment->r.begin = 26000;
	moment->error = 60000;
	c = cuda_call(m, "launch", 1, 27000, 28040);
	(void)c;
	image_write(m);
	ck_assert_uint_eq(image_find(m, "launch", 0).begin, 26000);
	ck_assert(image_has(m, "\"clock error ns\": 5,"));
	ck_assert(image_has(m, "\"clock moments\": 4,"));
	image_free(m);
}
END_TEST

/* Each moment is off by what it says it may be: no slice gets longer or shorter by it. */
START_TEST(noise_of_the_moments_changes_no_length)
{
	struct spool_image *m = cuda_image(1000, 30001000, 100);
	uint64_t at = 2000;

	for (unsigned i = 0; i < 30; i++) {
		struct rec_moment *moment =
			cuda_record(m, REC_MOMENT, sizeof(*moment), NULL, 0,
				    1000000 * i + 5000 + (i % 3) * 90);

		moment->r.begin = 1000000 * i + 5000 + 90;
		moment->error = 95 + i % 5;
	}
	for (unsigned i = 0; i < 20; i++) {
		cuda_kernel(m, "k", 1, 7, at, at + 500 + i * 100000, 0);
		at += 500 + i * 100000 + 300;
	}
	image_write(m);
	at = 2000;
	for (unsigned i = 0; i < 20; i++) {
		struct slice s = image_find(m, "k", i);

		ck_assert_uint_eq(s.end - s.begin, 500 + i * 100000);
		ck_assert_int_le(labs((long)(s.begin - at)), 300);
		at += 500 + i * 100000 + 300;
	}
	/* What one moment says, and how far off the line that is left the others are. */
	ck_assert(image_has(m, "\"clock error ns\": 275,"));
	image_free(m);
}
END_TEST

START_TEST(without_moments_the_epoch_is_taken)
{
	struct spool_image *m = cuda_image(1000, 100000, 5);

	cuda_chunk->used = sizeof(*cuda_chunk);
	cuda_call(m, "launch", 1, 27000, 28000);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "launch", 0).begin, 27000);
	ck_assert(image_has(m, "\"clock error ns\": null,"));
	image_free(m);
}
END_TEST

START_TEST(a_call_across_an_edge_is_where_its_middle_is)
{
	static const struct {
		uint64_t begin, end, want_begin, want_end;
		int owner;
	} cases[] = {
		{ 9500, 10060, 9440, 9999, 1 }, /* over the end: back, whole */
		{ 9990, 10400, 10001, 10410, -1 }, /* mostly behind it */
		{ 4940, 5500, 5000, 5560, 1 }, /* over the begin */
		{ 4500, 5030, 4469, 4999, -1 },
		{ 9000, 10900, 9000, 9999, 1 }, /* more than the error: cut */
		{ 4000, 5900, 4000, 4999, -1 },
		{ 4100, 6200, 5000, 6200, 1 },
		{ 5020, 10060, 5000, 9999, 1 }, /* no further than to its begin */
		{ 6000, 7000, 6000, 7000, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct spool_image *m = cuda_image(1000, 100000, 100);
		struct slice s;

		image_op(m, "op", 5000, 10000);
		cuda_call(m, "launch", 1, cases[i].begin, cases[i].end);
		image_write(m);
		s = image_find(m, "launch", 0);
		ck_assert_msg(s.begin == cases[i].want_begin &&
				      s.end + 1 >= cases[i].want_end &&
				      s.end <= cases[i].want_end,
			      "case %zu: %lu to %lu", i, s.begin, s.end);
		ck_assert_int_eq(cuda_number(m, "launch", 0, "External id"),
				 cases[i].owner);
		s = image_find(m, "op", 0);
		ck_assert_uint_eq(s.begin, 5000);
		ck_assert_uint_eq(s.end, 10000);
		ck_assert_uint_eq(m->result.cuda[CUDA_AMBIGUOUS], i < 8);
		image_free(m);
	}
}
END_TEST

START_TEST(work_before_its_call_keeps_its_place)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct slice s;

	cuda_call(m, "launch", 1, 5000, 6000);
	cuda_kernel(m, "k", 1, 7, 4000, 7000, 0);
	cuda_call(m, "launch", 2, 10000, 11000);
	cuda_kernel(m, "gone", 2, 7, 8000, 9000, 0);
	image_write(m);
	s = image_find(m, "k", 0);
	ck_assert_uint_eq(s.begin, 4000);
	ck_assert_uint_eq(s.end, 7000);
	ck_assert_uint_eq(m->result.cuda[CUDA_EARLY], 2);
	ck_assert(image_has(m, "\"GPU work before its call\": 2"));
	/* An arrow for the one, none for the other: it would go back in time. */
	ck_assert(
		image_has(m, "{\"ph\":\"f\",\"id\":1,\"pid\":0,\"tid\":7,\"ts\":5.001,"));
	ck_assert_uint_eq(image_times(m, "\"cat\":\"ac2g\""), 2);
	image_free(m);
}
END_TEST

START_TEST(work_behind_the_window_is_in_it)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_call(m, "launch", 1, 99000, 99500);
	cuda_kernel(m, "k", 1, 7, 4000000000, 5000000000, 0);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "k", 0).end, 5000000000);
	ck_assert(image_has(
		m, "\"tid\":\"PyTorch Profiler\",\"ts\":1.000,\"dur\":4999999.001,"));
	ck_assert(image_has(m, "\"Record Window End\",\"pid\":\"\",\"tid\":\"\","
			       "\"ts\":5000000.001}"));
	image_free(m);
}
END_TEST

START_TEST(impossible_times_are_counted)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_call(m, "launch", 1, 99000, 99500);
	cuda_kernel(m, "zero", 1, 7, 0, 0, 0);
	cuda_kernel(m, "reversed", 1, 7, 5000, 4000, 0);
	cuda_kernel(m, "far", 1, 7, 1ull << 60, (1ull << 60) + 5, 0);
	image_write(m);
	ck_assert(!image_has(m, "\"cat\":\"kernel\""));
	ck_assert_uint_eq(m->result.cuda[CUDA_ZERO], 1);
	ck_assert_uint_eq(m->result.cuda[CUDA_REVERSED], 1);
	ck_assert_uint_eq(m->result.cuda[CUDA_OUTSIDE], 1);
	ck_assert_uint_eq(m->result.cuda[CUDA_MISSING], 1);
	ck_assert(!image_has(m, "ac2g"));
	image_free(m);
}
END_TEST

/* The line between the moments is steeper or flatter than it should be by a hundredth. */
START_TEST(a_line_that_is_off_changes_no_length)
{
	static const int64_t offs[] = { -990, 990 };

	for (unsigned i = 0; i < 2; i++) {
		struct spool_image *m = cuda_image(1000, 100000, 10);
		struct rec_moment *last = (struct rec_moment *)(cuda_chunk + 1) + 1;
		struct slice s;

		last->r.end += (uint64_t)offs[i];
		cuda_kernel(m, "k", 1, 7, 50000, 51000, 0);
		image_write(m);
		s = image_find(m, "k", 0);
		ck_assert_uint_eq(s.end - s.begin, 1000);
		ck_assert_uint_ne(s.begin, 50000);
		image_free(m);
	}
}
END_TEST

/* What the hooks timed is no guess: it is cut where it crosses an edge, never moved. */
START_TEST(calls_of_the_hooks_are_not_moved)
{
	struct spool_image *m = cuda_image(1000, 100000, 100);
	struct rec_call *c;
	struct slice s;

	image_op(m, "op", 5000, 10000);
	c = image_record(m, REC_CALL, sizeof(*c), image_name(m, "hooked", 6, ""), 9500,
			 10060);
	c->correlation = 1;
	image_write(m);
	s = image_find(m, "hooked", 0);
	ck_assert_uint_eq(s.begin, 9500);
	ck_assert_uint_ge(s.end, 9998);
	ck_assert_uint_le(s.end, 10000);
	image_free(m);
}
END_TEST

/* A reader follows no arrow that takes no time. */
START_TEST(an_arrow_goes_forward)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_call(m, "launch", 1, 5000, 6000);
	cuda_kernel(m, "k", 1, 7, 5000, 7000, 0);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "k", 0).begin, 5000);
	ck_assert(
		image_has(m, "{\"ph\":\"f\",\"id\":1,\"pid\":0,\"tid\":7,\"ts\":5.001,"));
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cuda clock");

	tcase_add_test(tc, skewed_clocks_are_put_right);
	tcase_add_test(tc, a_drifting_clock_is_followed);
	tcase_add_test(tc, noise_of_the_moments_changes_no_length);
	tcase_add_test(tc, without_moments_the_epoch_is_taken);
	tcase_add_test(tc, a_call_across_an_edge_is_where_its_middle_is);
	tcase_add_test(tc, work_before_its_call_keeps_its_place);
	tcase_add_test(tc, work_behind_the_window_is_in_it);
	tcase_add_test(tc, impossible_times_are_counted);
	tcase_add_test(tc, a_line_that_is_off_changes_no_length);
	tcase_add_test(tc, calls_of_the_hooks_are_not_moved);
	tcase_add_test(tc, an_arrow_goes_forward);
	return unit_run(tc, "writer cuda clock");
}
