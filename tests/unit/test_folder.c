/* SPDX-License-Identifier: Apache-2.0 */
/* Directories by descriptor: whose links are followed, and where. */
#include "base/folder.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHER 65533 /* a user of whom nobody has heard */

static char top[] = "/tmp/test_folder-XXXXXX";

static void enter(void)
{
	strcpy(top, "/tmp/test_folder-XXXXXX");
	umask(022);
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chdir(top), 0);
}

static void leave(void)
{
	char command[PATH_MAX];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	ck_assert_int_eq(system(command), 0);
}

/* A directory with that name, owner and mode. */
static void folder(const char *name, unsigned mode, uid_t owner)
{
	ck_assert_int_eq(mkdir(name, 0700), 0);
	ck_assert_int_eq(chown(name, owner, (gid_t)-1), 0);
	ck_assert_int_eq(chmod(name, mode), 0);
}

static void put_link(const char *to, const char *name, uid_t owner)
{
	ck_assert_int_eq(symlink(to, name), 0);
	ck_assert_int_eq(lchown(name, owner, (gid_t)-1), 0);
}

/* The error, or 0 when `path` led to the directory `want`. */
static int led_to(int fd, const char *want)
{
	struct stat a, b;

	if (fd < 0)
		return fd;
	ck_assert_int_eq(fstat(fd, &a), 0);
	ck_assert_int_eq(stat(want, &b), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	ck_assert_uint_eq(a.st_dev, b.st_dev);
	close(fd);
	return 0;
}

static int opened(const char *path, const char *want)
{
	errno = 4711;
	int fd = folder_open(path, 0755);

	ck_assert_int_eq(errno, 4711);
	return led_to(fd, want);
}

START_TEST(a_path_is_walked_and_made)
{
	char full[PATH_MAX];

	ck_assert_int_eq(opened("a//b/./c/", "a/b/c"), 0);
	ck_assert_int_eq(opened("a/b/c/../d", "a/b/d"), 0);
	ck_assert_int_eq(opened("", "."), 0);
	ck_assert_int_eq(opened("/", "/"), 0);
	snprintf(full, sizeof(full), "%s/x/y", top);
	ck_assert_int_eq(opened(full, full), 0);
	ck_assert_int_eq(folder_open("gone", 0), -ENOENT);
	close(open("file", O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(folder_open("file", 0755), -ENOTDIR);
	ck_assert_int_eq(folder_open("file/x", 0755), -ENOTDIR);
	memset(full, 'n', NAME_MAX + 1);
	full[NAME_MAX + 1] = '\0';
	ck_assert_int_eq(folder_open(full, 0755), -ENAMETOOLONG);
	full[NAME_MAX] = '\0'; /* the longest that there is */
	ck_assert_int_eq(opened(full, full), 0);
}
END_TEST

START_TEST(links_of_ones_own_are_followed)
{
	char full[PATH_MAX];

	folder("real", 0755, geteuid());
	put_link("real", "near", geteuid());
	ck_assert_int_eq(opened("near/below", "real/below"), 0);
	snprintf(full, sizeof(full), "%s/near", top);
	put_link(full, "far", geteuid());
	ck_assert_int_eq(opened("far/below/..", "real"), 0);
	put_link("new/deep", "dangling", geteuid());
	ck_assert_int_eq(opened("dangling/er", "new/deep/er"), 0);
	put_link("round", "round", geteuid());
	ck_assert_int_eq(folder_open("round/x", 0755), -ELOOP);
	/* Also where others can write: the link itself is ours. */
	folder("open", 01777, geteuid());
	put_link("../real", "open/mine", geteuid());
	ck_assert_int_eq(opened("open/mine", "real"), 0);
}
END_TEST

START_TEST(a_descriptor_is_a_path)
{
	char path[64];
	int fd;

	folder("real", 0755, geteuid());
	fd = open("real", O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/x", fd);
	ck_assert_int_eq(opened(path, "real/x"), 0);
	close(fd);
}
END_TEST

static const struct {
	unsigned mode;
	bool theirs, refused;
} planted[] = {
	{ 0777, false, true },  { 01777, false, true }, { 0775, false, true },
	{ 0755, false, false }, { 0755, true, true },   { 01777, true, true },
};

/* A link of another user, in a directory of each kind. */
START_TEST(links_of_others_count_where_only_we_can_write)
{
	if (geteuid())
		return;
	folder("real", 0755, 0);
	folder("d", planted[_i].mode, planted[_i].theirs ? OTHER : 0);
	put_link("../real", "d/link", OTHER);
	put_link("../real", "d/root", 0);
	ck_assert_int_eq(opened("d/link", "real"), planted[_i].refused ? -ELOOP : 0);
	ck_assert_int_eq(opened("d/link/x", "real/x"), planted[_i].refused ? -ELOOP : 0);
	ck_assert_int_eq(access("real/x", F_OK), planted[_i].refused ? -1 : 0);
	ck_assert_int_eq(opened("d/root", "real"), 0);
}
END_TEST

START_TEST(below_a_directory_there_are_no_links)
{
	int at = open(".", O_PATH | O_DIRECTORY);

	folder("real", 0755, geteuid());
	put_link("real", "link", geteuid());
	put_link("/", "out", geteuid());
	ck_assert_int_eq(led_to(folder_below(at, "real/a/b", 0755), "real/a/b"), 0);
	ck_assert_int_eq(led_to(folder_below(at, "/real//a", 0755), "real/a"), 0);
	ck_assert_int_eq(led_to(folder_below(at, "", 0755), "."), 0);
	ck_assert_int_eq(folder_below(at, "link", 0755), -ELOOP);
	ck_assert_int_eq(folder_below(at, "link/a", 0755), -ELOOP);
	ck_assert_int_eq(folder_below(at, "out/tmp", 0755), -ELOOP);
	ck_assert_int_eq(folder_below(at, "..", 0755), -EINVAL);
	ck_assert_int_eq(folder_below(at, "real/../..", 0755), -EINVAL);
	close(at);
}
END_TEST

START_TEST(nothing_is_left_open_whatever_is_found)
{
	static const char *const paths[] = { "real/a",      "near/a",   "round/x",
					     "file/x",      "gone/a/b", "far",
					     "near/../near" };
	unsigned before;

	folder("real", 0755, geteuid());
	put_link("real", "near", geteuid());
	put_link("/", "far", geteuid());
	put_link("round", "round", geteuid());
	close(open("file", O_CREAT | O_WRONLY, 0600));
	before = seam_open_files();
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = folder_open(paths[i], i % 2 ? 0 : 0755);

		if (fd >= 0)
			close(fd);
		ck_assert_uint_eq(seam_open_files(), before);
		fd = folder_below(AT_FDCWD, paths[i], 0);
		if (fd >= 0)
			close(fd);
		ck_assert_uint_eq(seam_open_files(), before);
	}
}
END_TEST

/* A link and what comes behind it fit, or are refused: nothing is cut. */
START_TEST(a_path_is_as_long_as_it_may_be)
{
	static char text[PATH_MAX + 200], path[PATH_MAX + 200];

	folder("real", 0755, geteuid());
	for (size_t i = 0; i < PATH_MAX - 7; i += 2)
		memcpy(text + i, "./", 2);
	strcpy(text + 4000, "real");
	put_link(text, "long", geteuid());
	ck_assert_int_eq(opened("long", "real"), 0);
	strcpy(path, "long/");
	for (size_t i = 5; i < 4000; i += 2)
		memcpy(path + i, "./", 2);
	ck_assert_int_eq(folder_open(path, 0), -ENAMETOOLONG);
	path[80] = '\0';
	ck_assert_int_eq(opened(path, "real"), 0);
	for (size_t i = 0; i < PATH_MAX; i += 2)
		memcpy(path + i, "./", 2);
	strcpy(path + PATH_MAX - 1, "");
	ck_assert_int_eq(opened(path, "."), 0);
	strcpy(path + PATH_MAX - 1, "/");
	ck_assert_int_eq(folder_open(path, 0), -ENAMETOOLONG);
}
END_TEST

/* Another process makes it a moment before. */
static bool make_first(long nr, const long a[6], long *result)
{
	(void)result;
	if (nr == SYS_mkdirat)
		ck_assert_int_eq(seam_kernel(nr, a), 0);
	return false;
}

START_TEST(what_another_has_made_meanwhile_is_taken)
{
	seam = make_first;
	ck_assert_int_eq(opened("a/b", "a/b"), 0);
	seam = NULL;
}
END_TEST

static unsigned asked;

static bool count_calls(long nr, const long a[6], long *result)
{
	(void)nr, (void)a, (void)result;
	asked++;
	return false;
}

/* A filter that a program has put on itself may kill it for such a call. */
START_TEST(who_is_confined_opens_no_folder)
{
	folder("real", 0755, geteuid());
	sys_confine();
	asked = 0;
	seam = count_calls;
	ck_assert_int_eq(folder_file(AT_FDCWD, "real", O_PATH | O_DIRECTORY, 0), -EPERM);
	ck_assert_int_eq(folder_open("real", 0), -EPERM);
	ck_assert_int_eq(folder_below(AT_FDCWD, "new", 0755), -EPERM);
	seam = NULL;
	ck_assert_uint_eq(asked, 0);
	sys_unconfine();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("folder");

	tcase_add_checked_fixture(tc, enter, leave);
	tcase_add_test(tc, a_path_is_walked_and_made);
	tcase_add_test(tc, links_of_ones_own_are_followed);
	tcase_add_test(tc, a_descriptor_is_a_path);
	tcase_add_loop_test(tc, links_of_others_count_where_only_we_can_write, 0,
			    sizeof(planted) / sizeof(*planted));
	tcase_add_test(tc, below_a_directory_there_are_no_links);
	tcase_add_test(tc, what_another_has_made_meanwhile_is_taken);
	tcase_add_test(tc, nothing_is_left_open_whatever_is_found);
	tcase_add_test(tc, a_path_is_as_long_as_it_may_be);
	tcase_add_test(tc, who_is_confined_opens_no_folder);
	return unit_run(tc, "folder");
}
