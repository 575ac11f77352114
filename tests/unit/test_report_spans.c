/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of times against a list of moments; and the sorting beneath them. */
#include "base/order.h"
#include "report/figures/runs.h"
#include "report/figures/spans.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define MOMENTS 60

/* ---- an oracle: each moment for itself ---- */

struct both {
	struct spans spans;
	bool in[MOMENTS];
};

static void fill(struct both *b, unsigned n)
{
	*b = (struct both){ 0 };
	while (n--) {
		int begin = rand() % MOMENTS, end = begin + rand() % 12 - 2;

		end = end < MOMENTS ? end : MOMENTS;
		ck_assert(spans_add(&b->spans, begin - MOMENTS / 2, end - MOMENTS / 2));
		for (int i = begin; i < end; i++)
			b->in[i] = true;
	}
	spans_join(&b->spans);
}

/* The set has exactly these moments, and is joined. */
static void same(const struct spans *s, const bool *in)
{
	bool found[MOMENTS] = { false };

	for (size_t i = 0; i < s->n; i++) {
		ck_assert_int_lt(s->row[i].begin, s->row[i].end);
		ck_assert(!i || s->row[i].begin > s->row[i - 1].end);
		for (int64_t t = s->row[i].begin; t < s->row[i].end; t++)
			found[t + MOMENTS / 2] = true;
	}
	ck_assert(!memcmp(found, in, sizeof(found)));
}

START_TEST(each_moment_is_there_once)
{
	struct both a;

	srand(1);
	for (int i = 0; i < 3000; i++) {
		fill(&a, (unsigned)i % 15);
		same(&a.spans, a.in);
		spans_free(&a.spans);
	}
}
END_TEST

START_TEST(what_two_have_in_common_and_what_one_lacks)
{
	struct spans to = { 0 };
	struct both a, b;

	srand(2);
	for (int i = 0; i < 3000; i++) {
		bool common[MOMENTS], without[MOMENTS];

		fill(&a, (unsigned)i % 11);
		fill(&b, (unsigned)i % 13);
		for (int t = 0; t < MOMENTS; t++) {
			common[t] = a.in[t] && b.in[t];
			without[t] = a.in[t] && !b.in[t];
		}
		ck_assert(spans_common(&to, &a.spans, &b.spans));
		same(&to, common);
		ck_assert(spans_without(&to, &a.spans, &b.spans));
		same(&to, without);
		spans_free(&a.spans);
		spans_free(&b.spans);
	}
	spans_free(&to);
}
END_TEST

START_TEST(how_much_lies_within)
{
	struct both a;

	srand(3);
	for (int i = 0; i < 3000; i++) {
		int begin = rand() % MOMENTS, end = rand() % MOMENTS, sum = 0;

		fill(&a, (unsigned)i % 11);
		for (int t = begin; t < end; t++)
			sum += a.in[t];
		ck_assert_int_eq(
			spans_within(&a.spans, begin - MOMENTS / 2, end - MOMENTS / 2),
			sum);
		spans_free(&a.spans);
	}
}
END_TEST

START_TEST(sums_stay_at_their_end)
{
	struct spans s = { 0 };

	ck_assert(spans_add(&s, INT64_MIN, -1));
	ck_assert(spans_add(&s, 1, INT64_MAX));
	spans_join(&s);
	ck_assert_uint_eq(s.n, 2);
	ck_assert_int_eq(spans_within(&s, 0, INT64_MAX), INT64_MAX - 1);
	ck_assert_int_eq(spans_within(&s, INT64_MIN, INT64_MAX), INT64_MAX);
	spans_free(&s);
}
END_TEST

/* ---- sorting ---- */

struct row {
	int64_t key;
	uint32_t place;
};

static int by_key(const void *a, const void *b)
{
	return order_of(((const struct row *)a)->key, ((const struct row *)b)->key);
}

/* Rows in `runs` runs, some of them empty or of equal keys. */
static void sort_them(size_t n, size_t runs)
{
	struct row *rows = calloc(n + 1, sizeof(*rows));
	int64_t key = 0;

	for (size_t i = 0; i < n; i++) {
		key = (size_t)rand() % n < runs ? rand() % 100 : key + rand() % 3;
		rows[i] = (struct row){ key, (uint32_t)i };
	}
	runs_sort(rows, n, sizeof(*rows), by_key);
	for (size_t i = 1; i < n; i++) {
		ck_assert_int_le(rows[i - 1].key, rows[i].key);
		/* glibc's qsort is not stable since 2.37. */
		if (rows[i - 1].key == rows[i].key && runs < 100)
			ck_assert_uint_lt(rows[i - 1].place, rows[i].place);
	}
	for (size_t i = 0; i < n; i++)
		rows[rows[i].place].key = -1; /* each is there once */
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(rows[i].key, -1);
	free(rows);
}

START_TEST(few_runs_and_many_are_sorted)
{
	srand(4);
	for (size_t n = 0; n < 40; n++)
		sort_them(n, n / 2);
	for (size_t runs = 0; runs < 60; runs++)
		sort_them(2000, runs);
	sort_them(20000, 2000);
	sort_them(20000, 20000);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_spans");

	tcase_add_test(tc, each_moment_is_there_once);
	tcase_add_test(tc, what_two_have_in_common_and_what_one_lacks);
	tcase_add_test(tc, how_much_lies_within);
	tcase_add_test(tc, sums_stay_at_their_end);
	tcase_add_test(tc, few_runs_and_many_are_sorted);
	return unit_run(tc, "report_spans");
}
