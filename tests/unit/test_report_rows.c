/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each label, and a list of steps for those that hold most. */
#include "report/memory/memory.h"
#include "tests/unit/unit.h"

#include <malloc.h>

#define LABELS 5000u
#define STEPS  3u

static struct memory_table table;
static struct texts texts;

static struct memory_row *row(uint32_t label)
{
	struct memory_row *r = memory_row(&table, &texts, label);

	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(r->label, label);
	return r;
}

/* Texts come while rows are made; each label is asked for again as the table grows. */
START_TEST(each_label_has_one_row)
{
	for (uint32_t label = 0; label < LABELS; label++) {
		texts.n = label + 1;
		row(label)->bytes += label;
		/* A number in the table for each key that is asked. */
		ck_assert_uint_ge(malloc_usable_size(table.row_of),
				  table.labels * sizeof(*table.row_of));
		ck_assert_uint_gt(table.labels, label + 1);
		row(label / 2)->allocs++;
		ck_assert_uint_eq(table.n, label + 1);
	}
	row(TEXT_NONE)->bytes = -1;
	ck_assert_uint_eq(table.n, LABELS + 1);
	for (uint32_t label = 0; label < LABELS; label++)
		ck_assert_int_eq(row(label)->bytes, label);
	ck_assert_int_eq(row(TEXT_NONE)->bytes, -1);
	ck_assert_uint_eq(table.n, LABELS + 1);
}
END_TEST

/* Live bytes that differ by 4 GiB and more, and by the sign of that. */
static int64_t live(uint32_t label)
{
	return ((int64_t)(label * 2654435761u % LABELS) - 300) * 3000000001;
}

START_TEST(those_that_hold_most_have_a_list)
{
	int64_t least = INT64_MAX, most_without = 0;
	size_t with = 0;

	texts.n = LABELS;
	for (uint32_t label = 0; label < LABELS; label++)
		row(label)->last = live(label);
	ck_assert(memory_keep_steps(&table, STEPS));
	for (size_t i = 0; i < table.n; i++) {
		const struct memory_row *r = &table.rows[i];

		if (!r->steps) {
			most_without = r->last > most_without ? r->last : most_without;
			continue;
		}
		with++;
		least = r->last < least ? r->last : least;
		/* That of the beginning, too. */
		ck_assert_uint_ge(malloc_usable_size(r->steps),
				  (STEPS + 1) * sizeof(*r->steps));
		for (size_t step = 0; step <= STEPS; step++)
			ck_assert_int_eq(r->steps[step], 0);
	}
	ck_assert_uint_eq(with, MEMORY_GROWING);
	ck_assert_int_gt(least, most_without);
}
END_TEST

START_TEST(what_holds_nothing_has_no_list)
{
	static const int64_t last[] = { 5, 0, -7, 1 };

	texts.n = 4;
	ck_assert(memory_keep_steps(&table, STEPS)); /* of no rows */
	for (uint32_t label = 0; label < 4; label++)
		row(label)->last = last[label];
	ck_assert(memory_keep_steps(&table, 0));
	ck_assert_ptr_null(row(0)->steps);
	ck_assert(memory_keep_steps(&table, STEPS));
	for (uint32_t label = 0; label < 4; label++)
		ck_assert_int_eq(row(label)->steps != NULL, last[label] > 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_rows");

	tcase_add_test(tc, each_label_has_one_row);
	tcase_add_test(tc, those_that_hold_most_have_a_list);
	tcase_add_test(tc, what_holds_nothing_has_no_list);
	return unit_run(tc, "report_rows");
}
