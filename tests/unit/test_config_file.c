/* SPDX-License-Identifier: Apache-2.0 */
/* Whose ./profile.conf counts: ours or root's, where nobody else can write. */
#include "config/config_file.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER 65533 /* a user of whom nobody has heard */

static char top[] = "/tmp/test_config_file-XXXXXX";
static char said[4096], bad[4096];
static struct config c;
static char *environment[4];

static void enter(void)
{
	strcpy(top, "/tmp/test_config_file-XXXXXX");
	umask(022);
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chmod(top, 0755), 0);
	ck_assert_int_eq(chdir(top), 0);
}

static void leave(void)
{
	char command[PATH_MAX];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *name, const char *text, size_t len, unsigned mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void refuse(const char *where, const char *why, void *arg)
{
	size_t n = strlen(bad);

	(void)arg;
	snprintf(bad + n, sizeof(bad) - n, "%s: %s\n", where, why);
}

/* Loads, with what goes to stderr kept. */
static void load(const char *path)
{
	int kept = dup(2), pipes[2];
	ssize_t n;

	bad[0] = '\0';
	memset(&c, 0, sizeof(c));
	ck_assert_int_eq(pipe(pipes), 0);
	dup2(pipes[1], 2);
	close(pipes[1]);
	config_load(&c, path, environment, refuse, NULL);
	dup2(kept, 2);
	close(kept);
	n = read(pipes[0], said, sizeof(said) - 1);
	close(pipes[0]);
	said[n > 0 ? n : 0] = '\0';
}

#define EVIL "/evil\non_trace = evil\nspool = /evil\nfile = evil\nbuffer_mb = 7\n"

static const char *const ways[] = {
	"logdir = " EVIL,
	"\rlogdir = " EVIL,
	"\r\rlogdir\r=" EVIL,
	"\vlogdir = " EVIL,
	"\f logdir = " EVIL,
	" \t \r \tlogdir = " EVIL,
	"\xef\xbb\xbflogdir = " EVIL,
	"\xef\xbb\xbf\n\rlogdir = " EVIL,
	"#\r\n\r logdir=" EVIL,
	"\"logdir\" = " EVIL,
};

static void expect_ignored(const char *why)
{
	ck_assert_str_eq(c.logdir, "./log");
	ck_assert_str_eq(c.on_trace, "");
	ck_assert_str_eq(c.spool, "auto");
	ck_assert_str_eq(c.file, "");
	ck_assert_uint_eq(c.buffer_mb, 256);
	ck_assert_str_eq(bad, "");
	ck_assert_ptr_nonnull(strstr(said, "./profile.conf: ignored, because "));
	ck_assert_msg(strstr(said, why) != NULL, "%s", said);
	ck_assert_ptr_nonnull(strstr(said, "(--config profile.conf makes it count)"));
	ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
}

START_TEST(no_bytes_make_a_file_of_others_count)
{
	write_file("profile.conf", ways[_i], strlen(ways[_i]), 0666);
	load(NULL);
	expect_ignored("others may write it");
}
END_TEST

START_TEST(nor_does_a_nul)
{
	static const char text[] = "x\0\n\rlogdir = /evil\n";

	write_file("profile.conf", text, sizeof(text) - 1, 0666);
	load(NULL);
	expect_ignored("others may write it");
	chmod("profile.conf", 0644);
	load(NULL);
	ck_assert_str_eq(said, "");
	ck_assert_str_eq(bad, "profile.conf: is no text file\n");
}
END_TEST

static const struct {
	const char *why; /* NULL: it counts */
	unsigned file, dir;
	uid_t owner, dir_owner;
} cases[] = {
	{ NULL, 0644, 0755, 0, 0 },
	{ NULL, 0600, 0700, 0, 0 },
	{ "others may write it", 0664, 0755, 0, 0 },
	{ "others may write it", 0646, 0755, 0, 0 },
	{ "others may write its directory", 0644, 0775, 0, 0 },
	{ "others may write its directory", 0644, 0777, 0, 0 },
	{ "others may write its directory", 0644, 01777, 0, 0 },
	{ "it belongs to another user", 0644, 0755, OTHER, 0 },
	{ "it belongs to another user", 0644, 01777, OTHER, 0 },
	{ "it belongs to another user", 0000, 0755, OTHER, 0 },
	{ "its directory belongs to another user", 0644, 0755, 0, OTHER },
};

START_TEST(owner_and_mode_decide)
{
	if (geteuid())
		return;
	write_file("profile.conf", "logdir = /fine\n", 15, cases[_i].file);
	ck_assert_int_eq(chown("profile.conf", cases[_i].owner, 0), 0);
	ck_assert_int_eq(chown(".", cases[_i].dir_owner, 0), 0);
	ck_assert_int_eq(chmod(".", cases[_i].dir), 0);
	load(NULL);
	if (cases[_i].why) {
		expect_ignored(cases[_i].why);
	} else {
		ck_assert_str_eq(c.logdir, "/fine");
		ck_assert_str_eq(said, "");
	}
	/* Named, it counts, whosever it is. */
	load("profile.conf");
	ck_assert_str_eq(c.logdir, "/fine");
	ck_assert_str_eq(said, "");
}
END_TEST

/* Root's file in root's directory counts for everybody, another user's for nobody. */
START_TEST(other_users_judge_alike)
{
	int status;

	if (geteuid())
		return;
	write_file("profile.conf", "logdir = /fine\n", 15, 0644);
	for (unsigned third = 0; third < 2; third++) {
		ck_assert_int_eq(chown("profile.conf", third ? OTHER - 1 : 0, 0), 0);
		pid_t pid = fork();

		if (!pid) {
			if (setgid(OTHER) || setuid(OTHER))
				_exit(2);
			load(NULL);
			_exit(strcmp(c.logdir, "/fine") != 0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, (int)third << 8);
	}
}
END_TEST

START_TEST(a_link_does_not_count)
{
	write_file("elsewhere", "logdir = /evil\n", 15, 0644);
	ck_assert_int_eq(symlink("elsewhere", "profile.conf"), 0);
	load(NULL);
	expect_ignored("it is a link");
	load("profile.conf");
	ck_assert_str_eq(c.logdir, "/evil");
}
END_TEST

START_TEST(a_pipe_of_others_is_not_opened)
{
	ck_assert_int_eq(mkfifo("profile.conf", 0600), 0);
	ck_assert_int_eq(chmod("profile.conf", 0666), 0);
	load(NULL);
	expect_ignored("others may write it");
}
END_TEST

/* Between the first look and the opening another file takes the name. */
static unsigned looks;

static bool exchange(long nr, const long a[6], long *result)
{
	(void)result;
	if (seam_opens(nr, a, "profile.conf") && looks++ == 1)
		ck_assert_int_eq(rename("evil.conf", "profile.conf"), 0);
	return false;
}

START_TEST(a_file_is_judged_again_when_it_is_open)
{
	write_file("profile.conf", "logdir = /fine\n", 15, 0644);
	write_file("evil.conf", "logdir = /evil\n", 15, 0666);
	seam = exchange;
	load(NULL);
	seam = NULL;
	expect_ignored("others may write it");
	ck_assert_uint_eq(looks, 2);
}
END_TEST

START_TEST(no_file_is_left_open)
{
	unsigned before = seam_open_files();

	load(NULL);
	write_file("profile.conf", "logdir = /fine\n", 15, 0644);
	load(NULL);
	load("profile.conf");
	load("/no/such/file");
	chmod("profile.conf", 0666);
	load(NULL);
	ck_assert_uint_eq(seam_open_files(), before);
}
END_TEST

/* As an editor of another system writes it, and as people write other such files. */
START_TEST(a_file_may_have_comments_and_a_mark)
{
	static const char lines[] =
		"\xef\xbb\xbf# options\r\nlogdir = '/a b' # where\r\n"
		"buffer-mb = 7\t# small\r\nmetadata.k-e_y = v # w\r\n";

	write_file("profile.conf", lines, sizeof(lines) - 1, 0644);
	load(NULL);
	ck_assert_str_eq(bad, "");
	ck_assert_str_eq(c.logdir, "/a b");
	ck_assert_uint_eq(c.buffer_mb, 7);
	ck_assert_str_eq(c.metadata, "k-e_y = v\n");
	write_file("marked.conf", "\xef\xbb\xbflogdir = /c\n", 15, 0644);
	load("marked.conf");
	ck_assert_str_eq(bad, "");
	ck_assert_str_eq(c.logdir, "/c");
}
END_TEST

START_TEST(a_mistake_is_told_by_its_line)
{
	static char text[70000];
	const char *lines = "# one\nlogdir = /fine\nbuffer_mb = none\n\nnonsense\n";

	write_file("profile.conf", lines, strlen(lines), 0644);
	load(NULL);
	ck_assert_str_eq(bad,
			 "profile.conf:3: buffer_mb: 'none' is no number from 1 to "
			 "1048576\nprofile.conf:5: expected 'option = value' instead of "
			 "'nonsense'\n");
	ck_assert_str_eq(c.logdir, "/fine");
	/* All of a file or nothing. */
	memset(text, '\n', sizeof(text));
	for (size_t size = 65534; size <= 65537; size++) {
		write_file("long", text, size, 0644);
		load("long");
		ck_assert_str_eq(bad,
				 size < 65535 ? "" : "long: is larger than 64 KiB\n");
		unlink("long");
	}
}
END_TEST

/* An argument before PROF_CONFIG, that before ./profile.conf, and of a job's processes
 * none reads that: its launcher has. */
START_TEST(one_file_counts_and_which)
{
	write_file("profile.conf", "logdir = /here\n", 15, 0644);
	write_file("named.conf", "logdir = /named\n", 16, 0644);
	write_file("argument.conf", "logdir = /argument\n", 19, 0644);
	environment[0] = "PROF_CONFIGURED=named.conf";
	load(NULL);
	ck_assert_str_eq(c.logdir, "/here");
	environment[0] = "PROF_CONFIG=named.conf";
	load(NULL);
	ck_assert_str_eq(c.logdir, "/named");
	ck_assert_str_eq(c.config, "named.conf");
	load("argument.conf");
	ck_assert_str_eq(c.logdir, "/argument");
	environment[0] = "PROF_CONFIG=";
	environment[1] = "PROF_JOB=";
	load(NULL);
	ck_assert_str_eq(c.logdir, "/here");
	environment[0] = "PROF_JOB=1:/x/page";
	load(NULL);
	ck_assert_str_eq(c.logdir, "./log");
	load("argument.conf");
	ck_assert_str_eq(c.logdir, "/argument");
	environment[1] = "PROF_LOGDIR=/environment";
	load("argument.conf");
	ck_assert_str_eq(c.logdir, "/environment");
	ck_assert_str_eq(bad, "");
}
END_TEST

START_TEST(nothing_there_is_nothing_said)
{
	load(NULL);
	ck_assert_str_eq(said, "");
	ck_assert_str_eq(bad, "");
	ck_assert_str_eq(c.logdir, "./log");
	ck_assert_int_eq(mkdir("profile.conf", 0755), 0);
	load(NULL);
	ck_assert_str_eq(bad, "profile.conf: Is a directory\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("config_file");

	tcase_add_checked_fixture(tc, enter, leave);
	tcase_add_loop_test(tc, no_bytes_make_a_file_of_others_count, 0,
			    sizeof(ways) / sizeof(*ways));
	tcase_add_test(tc, nor_does_a_nul);
	tcase_add_loop_test(tc, owner_and_mode_decide, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(tc, other_users_judge_alike);
	tcase_add_test(tc, a_link_does_not_count);
	tcase_add_test(tc, a_pipe_of_others_is_not_opened);
	tcase_add_test(tc, a_file_is_judged_again_when_it_is_open);
	tcase_add_test(tc, no_file_is_left_open);
	tcase_add_test(tc, a_file_may_have_comments_and_a_mark);
	tcase_add_test(tc, a_mistake_is_told_by_its_line);
	tcase_add_test(tc, one_file_counts_and_which);
	tcase_add_test(tc, nothing_there_is_nothing_said);
	return unit_run(tc, "config_file");
}
