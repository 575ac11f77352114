/* SPDX-License-Identifier: Apache-2.0 */
/* How much was mapped is known without the linker's lock. */
#include <link.h>

static int count_locks(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg);
#define dl_iterate_phdr count_locks
#include "agent/hooks/adds.c"
#undef dl_iterate_phdr
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static unsigned locked;

static int count_locks(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	locked++;
	return dl_iterate_phdr(fn, arg);
}

static char path[64];

static void setup(void)
{
	char dir[] = "/tmp/adds-XXXXXX", command[256];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/lib.so", dir);
	snprintf(command, sizeof(command),
		 "echo 'int x;' | cc -x c - -shared -fPIC -o %s", path);
	ck_assert_int_eq(system(command), 0);
	adds_count();
	locked = 0;
}

static void teardown(void)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static unsigned words(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WATCHED; i++)
		n += watched[i] != NULL;
	return n;
}

static void *open_it(void)
{
	void *handle = dlopen(path, RTLD_NOW);

	ck_assert_msg(handle != NULL, "%s", dlerror());
	return handle;
}

START_TEST(the_lock_is_taken_where_a_library_was_opened)
{
	unsigned long long before = adds_count();
	void *handle;

	ck_assert_uint_ge(words(), 1);
	ck_assert_uint_eq(locked, 0);
	handle = open_it();
	ck_assert_uint_eq(adds_count(), before + 1);
	ck_assert_uint_eq(adds_count(), before + 1);
	ck_assert_uint_eq(locked, 1);
	dlclose(handle); /* what counts those that are there is no such word */
	adds_count();
	locked = 0;
	ck_assert_uint_eq(adds_count(), before + 1);
	ck_assert_uint_eq(locked, 0);
	ck_assert_uint_ge(words(), 1);
	open_it();
	ck_assert_uint_eq(adds_count(), before + 2);
}
END_TEST

static sem_t is_held, is_done;

static int hold(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	sem_post(&is_held);
	sem_wait(&is_done);
	return 1;
}

static void *hold_lock(void *arg)
{
	dl_iterate_phdr(hold, NULL);
	return arg;
}

START_TEST(a_thread_that_holds_the_lock_is_not_waited_for)
{
	unsigned long long before = adds_count();
	pthread_t t;

	sem_init(&is_held, 0, 0);
	sem_init(&is_done, 0, 0);
	ck_assert_int_eq(pthread_create(&t, NULL, hold_lock, NULL), 0);
	sem_wait(&is_held);
	ck_assert_uint_eq(adds_count(), before);
	sem_post(&is_done);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
}
END_TEST

static _Atomic uint64_t other;

/* It had the right value by chance. */
START_TEST(a_word_that_changes_by_itself_is_dropped)
{
	unsigned long long before = adds_count();
	unsigned n = words();

	other = before;
	for (unsigned i = 0; i < WATCHED; i++)
		if (!watched[i])
			watched[i] = &other;
	other++;
	ck_assert_uint_eq(adds_count(), before);
	ck_assert_uint_eq(locked, 1);
	ck_assert_uint_eq(words(), n);
	ck_assert_uint_eq(adds_count(), before);
	ck_assert_uint_eq(locked, 1);
}
END_TEST

/* Another C library has no such word. */
START_TEST(without_a_word_the_linker_is_asked_each_time)
{
	unsigned long long before = adds_count();

	drop_others(before + 1);
	ck_assert_uint_eq(words(), 0);
	ck_assert_uint_eq(adds_count(), before);
	ck_assert_uint_eq(adds_count(), before);
	ck_assert_uint_eq(locked, 2);
}
END_TEST

/* There are pages of zeros. */
START_TEST(words_too_many_to_tell_apart_are_none)
{
	drop_others(UINT64_MAX);
	find_words(0);
	ck_assert_uint_eq(words(), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("adds");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_lock_is_taken_where_a_library_was_opened);
	tcase_add_test(tc, a_thread_that_holds_the_lock_is_not_waited_for);
	tcase_add_test(tc, a_word_that_changes_by_itself_is_dropped);
	tcase_add_test(tc, without_a_word_the_linker_is_asked_each_time);
	tcase_add_test(tc, words_too_many_to_tell_apart_are_none);
	return unit_run(tc, "adds");
}
