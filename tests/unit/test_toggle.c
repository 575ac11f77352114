/* SPDX-License-Identifier: Apache-2.0 */
/* The set of activities as libstdc++ lays it out: nodes built here by hand. */
#include "agent/hooks/enter.h"
#include "agent/hooks/hook.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

struct node {
	int color;
	struct node *parent, *left, *right;
	int value;
};

_Static_assert(offsetof(struct node, value) == 32, "a node");

static unsigned got;
static int calls, last_on;

static void toggled(unsigned activities, bool on)
{
	calls++;
	got = activities;
	last_on = on;
}

/* As std::set<int>{values...}: the first one is the root. */
static size_t words[64];

static const void *set_of(unsigned n, const int *values, size_t count)
{
	static struct node nodes[8];

	memset(nodes, 0, sizeof(nodes));
	memset(words, 0, sizeof(words));
	for (unsigned i = 0; i < n; i++) {
		nodes[i].value = values[i];
		if (i)
			*(values[i] < values[0] ? &nodes[0].left : &nodes[0].right) =
				&nodes[i];
	}
	words[2] = n ? (size_t)&nodes[0] : 0; /* header: color, parent, left, right */
	words[5] = count;
	return words;
}

static void start(void)
{
	hook_start(&(struct hook_listener){ .toggle = toggled });
}

START_TEST(what_is_in_the_set_is_told)
{
	static const struct {
		int values[3];
		unsigned n, told;
	} rows[] = {
		{ { 0 }, 0, 0 },
		{ { 0 }, 1, HOOK_ACTIVITY_CPU },
		{ { 2 }, 1, HOOK_ACTIVITY_CUDA },
		{ { 2, 0 }, 2, HOOK_ACTIVITY_CPU | HOOK_ACTIVITY_CUDA },
		{ { 1, 0, 2 }, 3, HOOK_ACTIVITY_CPU | HOOK_ACTIVITY_CUDA },
		{ { 5, 3 }, 2, 0 }, /* other accelerators */
	};

	start();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		hook_look_toggle(i & 1, set_of(rows[i].n, rows[i].values, rows[i].n));
		ck_assert_uint_eq(got, rows[i].told);
		ck_assert_int_eq(last_on, i & 1);
	}
}
END_TEST

START_TEST(what_is_no_such_set_is_left_alone)
{
	static const int one[] = { 0 };

	start();
	hook_look_toggle(true, set_of(1, one, 1000000));
	ck_assert_uint_eq(got, 0);
	hook_look_toggle(true, NULL);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(calls, 2);
}
END_TEST

/* Memory that is no tree: its nodes lead back to themselves. */
START_TEST(a_tree_that_goes_round_ends)
{
	static const int two[] = { 2, 0 };
	struct node *root;

	start();
	alarm(10);
	set_of(2, two, 2);
	root = (struct node *)words[2];
	root->left->left = root->left;
	root->left->right = NULL;
	root->right = NULL;
	hook_look_toggle(true, words);
	ck_assert_int_eq(calls, 1);
	root->left->right = root;
	hook_look_toggle(true, words);
	ck_assert_int_eq(calls, 2);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("toggle");

	tcase_add_test(tc, what_is_in_the_set_is_told);
	tcase_add_test(tc, what_is_no_such_set_is_left_alone);
	tcase_add_test(tc, a_tree_that_goes_round_ends);
	return unit_run(tc, "toggle");
}
