/* SPDX-License-Identifier: Apache-2.0 */
/* Where trace files are made: below the log directory, never through a link of others,
 * never over what is there. */
#include "base/sys.h"
#include "tests/unit/spool_image.h"
#include "writer/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define OTHER 65533 /* a user of whom nobody has heard */

static char top[] = "/tmp/test_output-XXXXXX";
static struct output o;

static void enter(void)
{
	strcpy(top, "/tmp/test_output-XXXXXX");
	umask(022);
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chdir(top), 0);
}

static void leave(void)
{
	char command[PATH_MAX];

	ck_assert_int_eq(chdir("/"), 0);
	fmt(command, sizeof(command), "rm -rf '%s'", top);
	ck_assert_int_eq(system(command), 0);
}

static int put_file(const char *dir, const char *path, const char *text)
{
	int err = output_open(&o, dir, path, false);

	if (!err)
		err = output_write(&o, text, strlen(text));
	if (!err)
		err = output_finish(&o);
	if (err)
		output_abort(&o);
	return err;
}

static const char *text_of(const char *path)
{
	static char text[256];
	ssize_t n = sys_read_file(path, text, sizeof(text));

	return n < 0 ? "(nothing)" : text;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static unsigned files_in(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static unsigned descriptors(void)
{
	return files_in("/proc/self/fd");
}

START_TEST(a_file_is_whole_or_not_there)
{
	unsigned open_now = descriptors();

	ck_assert_int_eq(put_file(NULL, "log/a/x.pt.trace.json", "one"), 0);
	ck_assert_str_eq(text_of("log/a/x.pt.trace.json"), "one");
	ck_assert_str_eq(o.path, "log/a/x.pt.trace.json");
	ck_assert_int_eq(put_file("log", "log/a/x.pt.trace.json", "one"), 0);
	ck_assert_str_eq(o.path, "log/a/x.pt.trace.json"); /* it says the same */
	ck_assert_int_eq(put_file("log", "log/a/x.pt.trace.json", "two"), 0);
	ck_assert_str_eq(o.path, "log/a/x-2.pt.trace.json");
	ck_assert_int_eq(output_open(&o, NULL, "log/a/y", false), 0);
	ck_assert_int_eq(access("log/a/y.part", F_OK), 0);
	output_abort(&o);
	ck_assert_uint_eq(files_in("log/a"), 2);
	ck_assert_uint_eq(descriptors(), open_now);
}
END_TEST

START_TEST(a_directory_that_is_removed_meanwhile_is_made_again)
{
	unsigned open_now = descriptors();

	ck_assert_int_eq(output_open(&o, "log", "log/a/x", _i), 0);
	ck_assert_int_eq(output_write(&o, "one", 3), 0);
	ck_assert_int_eq(system("rm -r log"), 0);
	ck_assert_int_eq(output_finish(&o), 0);
	ck_assert_str_eq(o.path, "log/a/x");
	ck_assert_int_eq(system(_i ? "test \"$(gzip -dc < log/a/x)\" = one"
				   : "test \"$(cat log/a/x)\" = one"),
			 0);
	ck_assert_uint_eq(files_in("log/a"), 1);
	ck_assert_uint_eq(descriptors(), open_now);
}
END_TEST

/* As two writers make it, of which the second one knows less. */
static int put_trace(const char *id, const char *rest, bool gz)
{
	char text[256];
	size_t n = fmt(text, sizeof(text),
		       "{\n\"trace_id\": \"%s\",\n\"seen\": \"%s\"}\n", id, rest);
	int err = output_open(&o, NULL, "x.1.pt.trace.json", gz);

	if (!err)
		err = output_write(&o, text, n);
	if (!err)
		err = output_write(&o, rest, strlen(rest));
	return err ? err : output_finish(&o);
}

START_TEST(a_window_has_one_file)
{
	static const char id[] = "0123456789ABCDEF0123456789ABCDEF",
			  other[] = "0123456789ABCDEF0123456789ABCDEE";

	ck_assert_int_eq(put_trace(id, "much", _i), 0);
	ck_assert_int_eq(put_trace(id, "little", _i), 0);
	ck_assert_str_eq(o.path, "x.1.pt.trace.json");
	ck_assert_uint_eq(files_in("."), 1);
	ck_assert_int_eq(put_trace(other, "much", _i), 0);
	ck_assert_str_eq(o.path, "x-2.1.pt.trace.json");
	ck_assert_int_eq(put_trace(other, "little", _i), 0);
	ck_assert_uint_eq(files_in("."), 2);
	/* What is no trace is nobody's twin. */
	ck_assert_int_eq(put_trace("short", "much", _i), 0);
	ck_assert_int_eq(put_trace("short", "little", _i), 0);
	ck_assert_uint_eq(files_in("."), 4);
}
END_TEST

/* One whose beginning is all of another one is not that other one. */
START_TEST(a_beginning_is_no_twin)
{
	char text[8192 + 1];

	memset(text, 'x', 8192);
	text[8192] = '\0';
	ck_assert_int_eq(put_file(NULL, "x.1.pt.trace.json", text), 0);
	text[4096] = '\0';
	ck_assert_int_eq(put_file(NULL, "x.1.pt.trace.json", text), 0);
	ck_assert_uint_eq(files_in("."), 2);
}
END_TEST

START_TEST(a_file_is_replaced)
{
	ck_assert_int_eq(put_file(NULL, "x", "one"), 0);
	ck_assert_int_eq(output_open(&o, NULL, "x", false), 0);
	ck_assert_int_eq(output_write(&o, "two", 3), 0);
	ck_assert_int_eq(output_replace(&o), 0);
	ck_assert_str_eq(text_of("x"), "two");
	ck_assert_uint_eq(files_in("."), 1);
}
END_TEST

START_TEST(below_the_log_directory_there_are_no_links)
{
	ck_assert_int_eq(mkdir("real", 0755) | mkdir("elsewhere", 0755), 0);
	ck_assert_int_eq(symlink("real", "log"), 0); /* the user's own choice */
	ck_assert_int_eq(symlink("../elsewhere", "real/children"), 0);
	ck_assert_int_eq(put_file("log", "log/x", "one"), 0);
	ck_assert_str_eq(text_of("real/x"), "one");
	ck_assert_int_eq(put_file("log", "log/children/x", "one"), -ELOOP);
	ck_assert_int_eq(put_file("log", "log/children/sub/x", "one"), -ELOOP);
	ck_assert_int_eq(put_file("log", "log/../x", "one"), -EINVAL);
	ck_assert_uint_eq(files_in("elsewhere"), 0);
	ck_assert_ptr_nonnull(strstr(output_error(-ELOOP), "symbolic link"));
	ck_assert_str_eq(output_error(-ENOSPC), "No space left on device");
}
END_TEST

START_TEST(a_log_directory_behind_a_link_of_others)
{
	if (geteuid())
		return;
	ck_assert_int_eq(mkdir("real", 0755) | chmod(".", 01777), 0);
	ck_assert_int_eq(symlink("real", "log"), 0);
	ck_assert_int_eq(lchown("log", OTHER, OTHER), 0);
	ck_assert_int_eq(put_file("log", "log/x", "one"), -ELOOP);
	ck_assert_int_eq(put_file(NULL, "log/x", "one"), -ELOOP);
	ck_assert_uint_eq(files_in("real"), 0);
	ck_assert_int_eq(chmod(".", 0755), 0); /* whoever may write here set it up */
	ck_assert_int_eq(put_file("log", "log/x", "one"), 0);
	ck_assert_uint_eq(files_in("real"), 1);
}
END_TEST

static void expect_precious(void)
{
	ck_assert_str_eq(text_of("precious"), "precious");
}

START_TEST(a_link_at_the_name_is_no_way)
{
	write_file("precious", "precious");
	ck_assert_int_eq(mkdir("log", 01777), 0);
	ck_assert_int_eq(symlink("../precious", "log/x.pt.trace.json"), 0);
	ck_assert_int_eq(symlink("../new", "log/x-2.pt.trace.json"), 0);
	ck_assert_int_eq(put_file("log", "log/x.pt.trace.json", "precious"), 0);
	ck_assert_str_eq(o.path, "log/x-3.pt.trace.json");
	expect_precious();
	ck_assert_int_ne(access("new", F_OK), 0);
}
END_TEST

START_TEST(a_link_at_the_part_is_no_way)
{
	write_file("precious", "precious");
	ck_assert_int_eq(mkdir("log", 01777), 0);
	ck_assert_int_eq(symlink("../precious", "log/x.part"), 0);
	ck_assert_int_eq(symlink("../new", "log/x.2.part"), 0);
	ck_assert_int_eq(link("precious", "log/x.3.part"), 0);
	ck_assert_int_eq(put_file("log", "log/x", "one"), 0);
	ck_assert_str_eq(text_of("log/x"), "one");
	expect_precious();
	ck_assert_int_ne(access("new", F_OK), 0);
	/* Of our own file's two names one has gone. */
	ck_assert_uint_eq(files_in("log"), 3);
}
END_TEST

/* The file of a dead writer goes, a living one's stays as it is. */
START_TEST(parts_of_others_are_let_alone)
{
	struct output living;
	int fd;

	write_file("x.part", "left by a dead writer, and longer than what comes");
	ck_assert_int_eq(output_open(&living, NULL, "x", false), 0);
	ck_assert_uint_eq(files_in("."), 1);
	ck_assert_int_eq(output_write(&living, "living", 6), 0);
	ck_assert_int_eq(put_file(NULL, "x", "second"), 0);
	ck_assert_str_eq(text_of("x"), "second");
	ck_assert_str_eq(text_of("x.part"), "living");
	ck_assert_int_eq(output_finish(&living), 0);
	ck_assert_str_eq(text_of("x-2"), "living");
	if (geteuid())
		return;
	/* Another user's, even if nobody is at it. */
	write_file("y.part", "theirs");
	ck_assert_int_eq(chown("y.part", OTHER, OTHER), 0);
	ck_assert_int_eq(put_file(NULL, "y", "ours"), 0);
	ck_assert_str_eq(text_of("y.part"), "theirs");
	ck_assert_str_eq(text_of("y"), "ours");
	/* A pipe, and a directory. */
	ck_assert_int_eq(mkfifo("z.part", 0600) | mkdir("z.2.part", 0700), 0);
	fd = open("z.part", O_RDWR);
	ck_assert_int_eq(put_file(NULL, "z", "ours"), 0);
	ck_assert_str_eq(text_of("z"), "ours");
	close(fd);
}
END_TEST

/* Eight processes write the same name again and again: each gets a file of its own. */
START_TEST(many_writers_get_a_file_each)
{
	int status, failed = 0;

	for (unsigned i = 0; i < 8; i++) {
		if (fork())
			continue;
		for (unsigned k = 0; k < 50; k++) {
			char text[64], name[64];

			fmt(text, sizeof(text), "writer %u, file %u", i, k);
			fmt(name, sizeof(name), "log/%u.pt.trace.json", k);
			if (put_file("log", name, text) || strcmp(text_of(o.path), text))
				_exit(1);
		}
		_exit(0);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	ck_assert_int_eq(failed, 0);
	ck_assert_uint_eq(files_in("log"), 8 * 50);
}
END_TEST

static const struct {
	const char *fact, *want;
} facts[] = {
	{ "\"../../x.%t\"", "/log/__/__/x.1700000000123456789.pt.trace.json" },
	{ "\"/etc/x.%t\"", "/log/etc/x.1700000000123456789.pt.trace.json" },
	{ "\"a//./b/..//%t\"", "/log/a/b/__/1700000000123456789.pt.trace.json" },
	{ "\"..\"", "/log/...pt.trace.json" },
	{ "\"a/..%t\"", "/log/a/..1700000000123456789.pt.trace.json" },
	{ "\"///\"", "/log/node1_4242.1700000000123456789.pt.trace.json" },
	{ "\"runs/\"", "/log/runs/node1_4242.1700000000123456789.pt.trace.json" },
	{ "\"fixed\"", "/log/fixed.pt.trace.json" },
	{ "\"x\033[2J\n%t\"", "/log/node1_4242.1700000000123456789.pt.trace.json" },
	{ "\"\"", "/log/node1_4242.1700000000123456789.pt.trace.json" },
	{ "7", "/log/node1_4242.1700000000123456789.pt.trace.json" },
};

START_TEST(no_spool_names_a_file_elsewhere)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	spool.head = m->head;
	spool_fact("file", facts[_i].fact);
	spool.head = NULL;
	image_write(m);
	ck_assert(!strncmp(m->result.path, m->dir, strlen(m->dir)));
	ck_assert_str_eq(m->result.path + strlen(m->dir), facts[_i].want);
	ck_assert_int_eq(access(m->result.path, F_OK), 0);
	image_free(m);
}
END_TEST

/* Only the first window goes without its time, and none is written twice. */
START_TEST(a_name_that_is_taken_gets_the_time)
{
	struct spool_image *m = image_new(1000, 100000);
	static const char *const want[] = {
		"/log/a/fixed.pt.trace.json",
		"/log/a/fixed.1700000000123456790.pt.trace.json",
		"/log/a/fixed.1700000000123456791.pt.trace.json",
	};

	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	strcpy(m->head->facts, "file = \"a/fixed\"\n");
	for (unsigned i = 0; i < 3; i++) {
		m->info->number = i + 1;
		m->info->stamp_ns = IMAGE_STAMP + i;
		m->data->cycle = i + 1;
		for (unsigned again = 0; again < 2; again++) {
			m->result.path[0] = '\0';
			image_write(m);
			ck_assert_str_eq(m->result.path + strlen(m->dir), want[i]);
		}
	}
	image_free(m);
}
END_TEST

START_TEST(nor_does_a_host_name)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	strcpy(m->head->host, "../../x");
	image_write(m);
	ck_assert_str_eq(m->result.path + strlen(m->dir),
			 "/log/_._.._x_4242.1700000000123456789.pt.trace.json");
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("output");

	tcase_add_checked_fixture(tc, enter, leave);
	tcase_add_test(tc, a_file_is_whole_or_not_there);
	tcase_add_loop_test(tc, a_directory_that_is_removed_meanwhile_is_made_again, 0,
			    2);
	tcase_add_loop_test(tc, a_window_has_one_file, 0, 2);
	tcase_add_test(tc, a_beginning_is_no_twin);
	tcase_add_test(tc, a_file_is_replaced);
	tcase_add_test(tc, below_the_log_directory_there_are_no_links);
	tcase_add_test(tc, a_log_directory_behind_a_link_of_others);
	tcase_add_test(tc, a_link_at_the_name_is_no_way);
	tcase_add_test(tc, a_link_at_the_part_is_no_way);
	tcase_add_test(tc, parts_of_others_are_let_alone);
	tcase_add_test(tc, many_writers_get_a_file_each);
	tcase_add_loop_test(tc, no_spool_names_a_file_elsewhere, 0,
			    sizeof(facts) / sizeof(*facts));
	tcase_add_test(tc, a_name_that_is_taken_gets_the_time);
	tcase_add_test(tc, nor_does_a_host_name);
	return unit_run(tc, "output");
}
