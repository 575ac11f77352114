/* SPDX-License-Identifier: Apache-2.0 */
/* Which spool the finisher's thread takes next, and what it makes of its end. */
#include "finisher/worker.h"
#include "tests/unit/known_folder.h"

#include <errno.h>

static struct worker worker;
static struct task_how how;
static char order[4][SHARED_NAME];
static unsigned runs, most_runs;
static int answer;

/* In place of the real one: the thread is told to end with the last. */
int task_run(struct task *t)
{
	strcpy(order[runs++], t->name);
	worker_lock(&worker);
	worker.quit = runs == most_runs;
	worker_unlock(&worker);
	return answer;
}

static void run(unsigned n)
{
	most_runs = n;
	how.shared = all.shared;
	worker_start(&worker, &all, &how, false);
	pthread_join(worker.thread, NULL);
	ck_assert_uint_eq(runs, n);
}

/* It has a header, and somebody waits for it. */
static struct known *put_known(uint32_t pid, enum known_state state)
{
	int fd = put_spool(pid, 7, "");
	struct known *k;

	known_find(&all);
	k = all.at[all.n - 1];
	k->state = state;
	k->headed = k->look = true;
	close(fd);
	return k;
}

/* Its process may be at its end, and waits for the file. */
START_TEST(who_waits_comes_first)
{
	struct known *dead = put_known(4000001, KNOWN_DEAD);
	struct known *live = put_known(4000002, KNOWN_LIVE);
	char first[SHARED_NAME], second[SHARED_NAME];

	ck_assert_ptr_eq(all.at[0], dead);
	strcpy(first, live->name);
	strcpy(second, dead->name);
	run(2);
	ck_assert_str_eq(order[0], first);
	ck_assert_str_eq(order[1], second);
	ck_assert_int_eq(dead->state, KNOWN_OVER);
}
END_TEST

START_TEST(what_was_given_up_is_looked_at_again)
{
	static const int answers[] = { -ECANCELED, 0, -EIO };
	struct known *live = put_known(4000001, KNOWN_LIVE);

	answer = answers[_i];
	run(1);
	ck_assert(!live->busy);
	ck_assert(live->look == (answer == -ECANCELED));
	ck_assert_int_eq(live->state, KNOWN_LIVE);
}
END_TEST

START_TEST(what_is_being_written_is_left)
{
	struct known *live = put_known(4000001, KNOWN_LIVE);

	how.shared = all.shared;
	worker = (struct worker){ .all = &all, .how = &how };
	live->look = false;
	ck_assert_uint_eq(worker_left(&worker), 0);
	live->busy = true;
	ck_assert_uint_eq(worker_left(&worker), 1);
	ck_assert_uint_eq(atomic_load(&all.shared->left), 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("finish worker");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, who_waits_comes_first);
	tcase_add_loop_test(tc, what_was_given_up_is_looked_at_again, 0, 3);
	tcase_add_test(tc, what_is_being_written_is_left);
	return unit_run(tc, "finish worker");
}
