/* SPDX-License-Identifier: Apache-2.0 */
/* Where the agent is looked for, from wherever the launcher lies. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- the launcher's own path, as the test says ---- */

static char root[64]; /* a folder of the test's, without links */
static char exe[PATH_MAX]; /* "" = there is no /proc */
static char execfn[PATH_MAX]; /* what execve was given; "" = the kernel does not say */

static ssize_t the_link(const char *path, char *buf, size_t size)
{
	ck_assert_str_eq(path, "/proc/self/exe");
	if (!*exe) {
		errno = ENOENT;
		return -1;
	}
	memset(buf, '!', size); /* it ends what it writes with no zero */
	memcpy(buf, exe, strlen(exe));
	return (ssize_t)strlen(exe);
}

static unsigned long the_vector(unsigned long what)
{
	ck_assert_uint_eq(what, AT_EXECFN);
	return (unsigned long)(*execfn ? execfn : NULL);
}

#define readlink  the_link
#define getauxval the_vector
#include "launcher/find.c"
#undef readlink
#undef getauxval

/* ---- a prefix ---- */

static void make(const char *path, bool folder)
{
	char whole[2 * PATH_MAX];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	if (folder) {
		ck_assert_int_eq(mkdir(whole, 0755), 0);
		return;
	}
	file = fopen(whole, "w");
	ck_assert_ptr_nonnull(file);
	fclose(file);
}

static void setup(void)
{
	char dir[] = "/tmp/unit-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	strcpy(root, dir);
	make("bin", true);
	make("lib", true);
	make("lib64", true);
	make("lib/proflaunch", true);
	make("bin/proflaunch", false);
	snprintf(exe, sizeof(exe), "%s/bin/proflaunch", root);
	*execfn = '\0';
}

static void expect(const char *path)
{
	char found[PATH_MAX], want[2 * PATH_MAX];

	snprintf(want, sizeof(want), "%s/%s", root, path);
	ck_assert_int_eq(find_agent(found, sizeof(found)), 0);
	ck_assert_str_eq(found, want);
}

START_TEST(the_nearest_of_all_places)
{
	char found[PATH_MAX];

	ck_assert_int_eq(find_agent(found, sizeof(found)), -ENOENT);
	make("lib64/libproflaunch.so", false);
	expect("lib64/libproflaunch.so");
	make("lib/libproflaunch.so", false);
	expect("lib/libproflaunch.so");
	make("lib/proflaunch/libproflaunch.so", false);
	expect("lib/proflaunch/libproflaunch.so");
	make("bin/libproflaunch.so", false);
	expect("bin/libproflaunch.so");
}
END_TEST

START_TEST(a_path_has_room_with_its_end)
{
	char found[PATH_MAX];
	size_t len;

	make("lib/libproflaunch.so", false);
	len = strlen(root) + strlen("/lib/libproflaunch.so");
	memset(found, '!', sizeof(found));
	ck_assert_int_eq(find_agent(found, len), -ENOENT);
	ck_assert_int_eq(found[len], '!');
	ck_assert_int_eq(find_agent(found, len + 1), 0);
	ck_assert_uint_eq(strlen(found), len);
}
END_TEST

START_TEST(without_proc_by_what_was_started)
{
	*exe = '\0';
	snprintf(execfn, sizeof(execfn), "%s/lib/../bin/proflaunch", root);
	make("lib/libproflaunch.so", false);
	expect("lib/libproflaunch.so");
	ck_assert_str_eq(find_self() + strlen(root), "/bin/proflaunch");
}
END_TEST

/* The kernel does not say, or says what is no more. */
START_TEST(what_nobody_knows_is_called_by_its_name)
{
	char found[PATH_MAX];

	*exe = '\0';
	if (_i)
		snprintf(execfn, sizeof(execfn), "%s/gone/proflaunch", root);
	ck_assert_str_eq(find_self(), "proflaunch");
	ck_assert_str_eq(find_self(), "proflaunch");
	ck_assert_int_eq(find_agent(found, sizeof(found)), -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("find");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, the_nearest_of_all_places);
	tcase_add_test(tc, a_path_has_room_with_its_end);
	tcase_add_test(tc, without_proc_by_what_was_started);
	tcase_add_loop_test(tc, what_nobody_knows_is_called_by_its_name, 0, 2);
	return unit_run(tc, "find");
}
