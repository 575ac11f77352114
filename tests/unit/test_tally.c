/* SPDX-License-Identifier: Apache-2.0 */
/* Names counted by several at once, and what a program wrote there. */
#include "base/tally.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct tally t;

static void begin(void)
{
	memset(&t, 0, sizeof(t));
}

static void add(const char *name, uint64_t n)
{
	tally_add(&t, name, strlen(name), n);
}

static uint64_t count_of(const char *name)
{
	for (unsigned i = 0; i < TALLY_ROWS; i++)
		if (!strcmp(t.row[i].name, name))
			return t.row[i].n;
	return 0;
}

START_TEST(each_name_has_its_number)
{
	add("env", 1);
	add("python3", 2);
	add("env", 1);
	add("", 5);
	ck_assert_uint_eq(count_of("env"), 2);
	ck_assert_uint_eq(count_of("python3"), 2);
	ck_assert_uint_eq(tally_all(&t), 9);
}
END_TEST

START_TEST(names_without_a_row_are_counted)
{
	char name[8];

	for (int i = 0; i < TALLY_ROWS + 5; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		add(name, 1);
	}
	ck_assert_uint_eq(t.more, 5);
	ck_assert_uint_eq(tally_all(&t), TALLY_ROWS + 5);
}
END_TEST

START_TEST(a_long_name_is_cut_and_ends)
{
	char name[200];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add(name, 1);
	name[150] = 'y';
	add(name, 1);
	ck_assert_uint_eq(strlen(t.row[0].name), sizeof(t.row[0].name) - 1);
	ck_assert_uint_eq(t.row[0].n, 2);
}
END_TEST

/* Its rows lie where a program can write: any number, and names without an end. */
START_TEST(what_is_joined_is_bounded)
{
	struct tally lies;

	memset(&lies, 0xff, sizeof(lies));
	tally_join(&t, &lies, 100);
	ck_assert_uint_eq(tally_all(&t), 0);
	lies.row[0].n = 100;
	lies.more = 7;
	tally_join(&t, &lies, 100);
	ck_assert_uint_eq(tally_all(&t), 107);
	ck_assert_uint_eq(strlen(t.row[0].name), sizeof(t.row[0].name) - 1);
	memset(&lies, 0, sizeof(lies));
	tally_add(&lies, "env", 3, 2);
	tally_join(&t, &lies, 100);
	tally_join(&t, &lies, 100);
	ck_assert_uint_eq(count_of("env"), 4);
}
END_TEST

static void *count_names(void *arg)
{
	for (int i = 0; i < 10000; i++)
		add(i % 2 ? "one" : "two", 1);
	return arg;
}

START_TEST(threads_lose_nothing)
{
	pthread_t other;

	pthread_create(&other, NULL, count_names, NULL);
	count_names(NULL);
	pthread_join(other, NULL);
	ck_assert_uint_eq(count_of("one"), 10000);
	ck_assert_uint_eq(count_of("two"), 10000);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("tally");

	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, each_name_has_its_number);
	tcase_add_test(tc, names_without_a_row_are_counted);
	tcase_add_test(tc, a_long_name_is_cut_and_ends);
	tcase_add_test(tc, what_is_joined_is_bounded);
	tcase_add_test(tc, threads_lose_nothing);
	return unit_run(tc, "tally");
}
