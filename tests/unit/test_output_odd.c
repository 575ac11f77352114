/* SPDX-License-Identifier: Apache-2.0 */
/* Trace files where a file system has no locks, no RENAME_NOREPLACE, no hard links. */
#include "base/sys.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"
#include "writer/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>

static char dir[64];
static bool no_locks, no_links;

/* In the place of the C library's. */
int flock(int fd, int how)
{
	if (no_locks) {
		errno = ENOLCK;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, how);
}

int linkat(int from, const char *name, int to, const char *other, int flags)
{
	if (no_links) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_linkat, from, name, to, other, flags);
}

static bool old_rename(long nr, const long a[6], long *result)
{
	if (nr != SYS_renameat2 || !a[4])
		return false;
	*result = -EINVAL;
	return true;
}

static void begin(void)
{
	strcpy(dir, "/tmp/output-odd-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	seam = old_rename;
}

static void end(void)
{
	seam = NULL;
}

static void put_trace(struct output *o, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/a.7.pt.trace.json", dir);
	ck_assert_int_eq(output_open(o, NULL, path, false), 0);
	ck_assert_int_eq(output_write(o, text, strlen(text)), 0);
}

static unsigned files(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static const char *text_of(const char *name)
{
	static char text[64];
	char path[128];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	n = sys_read_file(path, text, sizeof(text));
	return n < 0 ? "(nothing)" : text;
}

/* Two files of one name: both are there, whole, and nothing else. */
static void expect_both(void)
{
	static struct output one, other;

	put_trace(&one, "one");
	ck_assert_int_eq(output_finish(&one), 0);
	ck_assert_uint_eq(files(), 1);
	put_trace(&other, "other");
	ck_assert_int_eq(output_finish(&other), 0);
	ck_assert_uint_eq(files(), 2);
	ck_assert_str_eq(text_of("a.7.pt.trace.json"), "one");
	ck_assert_str_eq(text_of("a-2.7.pt.trace.json"), "other");
	ck_assert(!strcmp(strrchr(other.path, '/'), "/a-2.7.pt.trace.json"));
}

START_TEST(a_hard_link_promises_as_much)
{
	expect_both();
}
END_TEST

START_TEST(else_it_looks_before)
{
	no_links = true;
	expect_both();
}
END_TEST

/* Nobody can take another's file for a dead one's there: each has a name of its own. */
START_TEST(without_locks_there_are_files)
{
	static struct output one, other;

	no_locks = true;
	put_trace(&one, "one");
	put_trace(&other, "other");
	ck_assert_str_ne(one.part, other.part);
	ck_assert_int_eq(output_finish(&one), 0);
	ck_assert_int_eq(output_finish(&other), 0);
	ck_assert_uint_eq(files(), 2);
	ck_assert_str_eq(text_of("a.7.pt.trace.json"), "one");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("odd");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_hard_link_promises_as_much);
	tcase_add_test(tc, else_it_looks_before);
	tcase_add_test(tc, without_locks_there_are_files);
	return unit_run(tc, "output where a file system is odd");
}
