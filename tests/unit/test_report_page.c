/* SPDX-License-Identifier: Apache-2.0 */
/* What a page keeps of a long trace, how its slices are packed, and what it is made of.
 */
#include "report/page/columns.h"
#include "report/page/flames.h"
#include "report/page/page.h"
#include "tests/unit/report_trace.h"

static struct subject subject;
static struct excerpt excerpt;
static struct columns columns;

static void read_subject(void)
{
	static const struct subject_options all = { .first = INT64_MIN,
						    .last = INT64_MAX };
	char path[] = "/tmp/test_report_page.XXXXXX", why[1024];
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	fputs("{\"ph\":\"M\"}]}", file);
	fclose(file);
	ck_assert_int_eq(write(fd, text, text_len), (ssize_t)text_len);
	close(fd);
	ck_assert_msg(subject_make(&subject, path, &all, why, sizeof(why)), "%s", why);
	unlink(path);
}

static void free_subject(void)
{
	columns_free(&columns);
	excerpt_free(&excerpt);
	subject_free(&subject);
	end();
}

/* Five steps of 100 us and one of 300, with an operator each, and two in the second. */
static void six_steps(void)
{
	begin();
	for (long i = 0; i < 6; i++) {
		step(i, 1000 + 100 * (double)i, i == 5 ? 300 : 100);
		op("aten::mm", 1010 + 100 * (double)i, 50);
	}
	op("aten::add", 1170, 10);
	read_subject();
}

/* ---- which steps stay ---- */

START_TEST(all_slices_stay_where_they_fit)
{
	six_steps();
	ck_assert(excerpt_make(&excerpt, &subject, 13));
	ck_assert_uint_eq(excerpt.slices, 13);
	ck_assert_uint_eq(excerpt.steps, 6);
	ck_assert_ptr_null(excerpt.step);
	free_subject();
}
END_TEST

/* Each step is two slices: the first is as long as the median, the last is the slowest.
 */
START_TEST(the_median_and_the_slowest_step_stay_then_the_first_ones)
{
	static const bool kept[] = { true, false, true, false, false, true };

	six_steps();
	ck_assert(excerpt_make(&excerpt, &subject, 6));
	ck_assert_uint_eq(excerpt.steps, 3);
	for (size_t i = 0; i < 6; i++)
		ck_assert_msg(excerpt.step[i] == kept[i], "step %zu", i);
	free_subject();
}
END_TEST

START_TEST(a_step_that_is_too_long_is_cut_at_a_moment)
{
	size_t kept = 0;

	begin();
	for (int i = 0; i < 100; i++)
		op("aten::mm", 1000 + 10 * i, 5);
	read_subject();
	ck_assert(excerpt_make(&excerpt, &subject, 30));
	for (size_t i = 0; i < subject.model.slices_n; i++)
		kept += excerpt_keeps(&excerpt, &subject.model.slices[i]);
	ck_assert_uint_eq(kept, 30);
	free_subject();
}
END_TEST

/* ---- columns ---- */

static uint64_t next_number(size_t *at)
{
	uint64_t n = 0;

	for (unsigned shift = 0;; shift += 7) {
		unsigned char byte = columns.bytes[(*at)++];

		n |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return n;
	}
}

/* An operator inside another has a lane of its own; what overlaps begins later. */
START_TEST(slices_of_a_lane_do_not_overlap)
{
	static const uint64_t known[] = {
		/* begins, lengths, names of lane 0, of lane 1 */
		0, 1000, 1000, 1000, 500, 700, 0, 1, 2, 100, 200, 3
	};
	size_t at = 0;

	begin();
	op("outer", 1000, 100);
	op("inner", 1010, 20);
	op("next", 1100, 50);
	slice(1, "cpu_op", "late", 1200, 70, "");
	read_subject();
	ck_assert(excerpt_make(&excerpt, &subject, 100));
	ck_assert(columns_make(&columns, &subject, &excerpt));
	ck_assert_uint_eq(columns.tracks_n, 1);
	ck_assert_uint_eq(columns.tracks[0].lanes, 2);
	ck_assert_uint_eq(columns.tracks[0].lane[0], 3);
	ck_assert_uint_eq(columns.slices, 4);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		ck_assert_msg(next_number(&at) == known[i], "number %zu", i);
	ck_assert_uint_eq(at, columns.n);
	free_subject();
}
END_TEST

START_TEST(what_lies_too_deep_is_in_the_last_lane)
{
	uint64_t sum = 0;

	begin();
	for (int i = 0; i < 200; i++)
		op("deep", 1000 + i, 1000 - 2 * i);
	read_subject();
	ck_assert(excerpt_make(&excerpt, &subject, 1000));
	ck_assert(columns_make(&columns, &subject, &excerpt));
	ck_assert_uint_eq(columns.tracks[0].lanes, COLUMNS_LANES);
	for (unsigned i = 0; i < COLUMNS_LANES; i++)
		sum += columns.tracks[0].lane[i];
	ck_assert_uint_eq(sum, 200);
	free_subject();
}
END_TEST

/* ---- the page ---- */

START_TEST(a_flame_adds_up_equal_stacks)
{
	FILE *out = open_memstream(&said, &said_len);

	six_steps();
	ck_assert(flames_print(&subject, out));
	fclose(out);
	ck_assert_ptr_nonnull(strstr(said, "[\"aten::mm\",\"operator\"]"));
	ck_assert_ptr_nonnull(strstr(said, ",300.000]"));
	ck_assert_ptr_nonnull(strstr(said, "\"gpu\": {\"frames\": [], \"nodes\": []}"));
	free_subject();
}
END_TEST

START_TEST(a_page_has_its_parts_and_no_word_of_the_trace)
{
	FILE *out = open_memstream(&said, &said_len);

	six_steps();
	page_begin(out);
	ck_assert(page_run(out, &subject, "</script>\"<b>", PAGE_SLICES));
	page_end(out);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(said, "<!doctype html>"));
	ck_assert_ptr_nonnull(
		strstr(said, "class=\"run\" data-title=\"PC9zY3JpcHQ+IjxiPg==\""));
	ck_assert_ptr_null(strstr(said, "aten::mm"));
	ck_assert_ptr_null(strstr(said, "<b>\""));
	ck_assert_str_eq(said + said_len - 8, "</html>\n");
	free_subject();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_page");

	tcase_add_test(tc, all_slices_stay_where_they_fit);
	tcase_add_test(tc, the_median_and_the_slowest_step_stay_then_the_first_ones);
	tcase_add_test(tc, a_step_that_is_too_long_is_cut_at_a_moment);
	tcase_add_test(tc, slices_of_a_lane_do_not_overlap);
	tcase_add_test(tc, what_lies_too_deep_is_in_the_last_lane);
	tcase_add_test(tc, a_flame_adds_up_equal_stacks);
	tcase_add_test(tc, a_page_has_its_parts_and_no_word_of_the_trace);
	return unit_run(tc, "report_page");
}
