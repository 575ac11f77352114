/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/observe_bench.h"

#include <pthread.h>
#include <sched.h>

/* ---- contexts that other threads end ---- */

#define SLAB 32

static void *mine[SLAB], *other[SLAB];

static bool is_mine(const void *context)
{
	for (unsigned i = 0; i < SLAB; i++)
		if (mine[i] == context)
			return true;
	return false;
}

/* With contexts of its own, of which it ends none; then it ends those of the other. */
static void *end_theirs(void *arg)
{
	(void)arg;
	other[0] = note_begin();
	for (unsigned i = 0; i < SLAB; i++)
		end(mine[i]);
	for (unsigned i = 1; i < SLAB; i++)
		other[i] = note_begin();
	for (unsigned i = 0; i < SLAB; i++)
		ck_assert_msg(!is_mine(other[i]), "it has %u of the other thread's", i);
	return NULL;
}

START_TEST(a_context_goes_back_to_who_made_it)
{
	pthread_t thread;

	setup(false, false);
	sched_fake.token = 0x101;
	for (unsigned i = 0; i < SLAB; i++)
		mine[i] = note_begin();
	ck_assert_int_eq(pthread_create(&thread, NULL, end_theirs, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(sched_fake.ended, SLAB);
	for (unsigned i = 0; i < SLAB; i++)
		ck_assert_msg(is_mine(note_begin()), "%u is new", i);
	ck_assert(!is_mine(note_begin()));
}
END_TEST

static void *end_first(void *arg)
{
	other[0] = note_begin();
	end(mine[0]);
	return arg;
}

/* Its owner may be in the middle of its own list just then: it goes to another one. */
START_TEST(a_context_from_elsewhere_is_not_the_next_one)
{
	pthread_t thread;

	setup(false, false);
	sched_fake.token = 0x101;
	mine[0] = note_begin();
	ck_assert_int_eq(pthread_create(&thread, NULL, end_first, NULL), 0);
	pthread_join(thread, NULL);
	for (unsigned i = 1; i < SLAB; i++)
		ck_assert_ptr_ne(note_begin(), mine[0]);
	ck_assert_ptr_eq(note_begin(), mine[0]);
}
END_TEST

#define MANY   100000u
#define POSTED 64u

static void *_Atomic post[POSTED];

/* Ends what the other thread began, and has operators of its own in between. */
static void *end_many(void *arg)
{
	void *context;

	for (unsigned i = 0; i < MANY; i++) {
		void *own = note_begin();

		while (!(context = atomic_exchange(&post[i % POSTED], NULL)))
			sched_yield();
		end(context);
		end(own);
	}
	return arg;
}

/* Two threads that hold one context would end it twice, or never (and see the thread
 * sanitizer). */
START_TEST(many_ends_on_another_thread)
{
	pthread_t thread;
	void *none;

	setup(false, false);
	sched_fake.token = 0x101;
	ck_assert_int_eq(pthread_create(&thread, NULL, end_many, NULL), 0);
	for (unsigned i = 0; i < MANY; i++) {
		void *context = note_begin();

		ck_assert_ptr_nonnull(context);
		while (none = NULL,
		       !atomic_compare_exchange_weak(&post[i % POSTED], &none, context))
			sched_yield();
		if (i % 3 == 0)
			end(note_begin());
	}
	pthread_join(thread, NULL);
	ck_assert_uint_eq(sched_fake.ended, 2 * MANY + (MANY + 2) / 3);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("contexts");

	tcase_add_test(tc, a_context_goes_back_to_who_made_it);
	tcase_add_test(tc, a_context_from_elsewhere_is_not_the_next_one);
	tcase_add_test(tc, many_ends_on_another_thread);
	return unit_run(tc, "contexts");
}
