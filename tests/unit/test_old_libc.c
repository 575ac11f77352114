/* SPDX-License-Identifier: Apache-2.0 */
/* A program that begins as the launcher does, by start.S: what main and what runs before
 * and behind it find; and the stat family of old_libc.c. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the program that is started ---- */

static struct {
	char order[8]; /* a letter for each that ran before main */
	int argc;
	char **argv, **env;
	bool aligned;
} before;

static void note(char who, int argc, char **argv, char **env)
{
	before.order[strlen(before.order)] = who;
	before.argc = argc;
	before.argv = argv;
	before.env = env;
}

/* Whose program has one (a profile that is built in, or preloaded) finds it called first:
 * by _init, which stands before the constructors. */
void __gmon_start__(void);
void __gmon_start__(void)
{
	note('g', 0, NULL, NULL);
}

__attribute__((constructor(201))) static void first(int argc, char **argv, char **env)
{
	note('1', argc, argv, env);
	before.aligned = (uintptr_t)__builtin_frame_address(0) % 16 == 0;
}

__attribute__((constructor(202))) static void second(int argc, char **argv, char **env)
{
	note('2', argc, argv, env);
}

__attribute__((constructor)) static void last(int argc, char **argv, char **env)
{
	note('3', argc, argv, env);
}

static bool is_child;

static void say(const char *text)
{
	if (is_child && write(1, text, strlen(text)) < 0)
		abort();
}

static void at_exit(void)
{
	say("handlers ");
}

__attribute__((destructor)) static void destroy(void)
{
	say("destructors");
}

/* 0, or the line that is not as it should be. */
static int look(int argc, char **argv)
{
#define EXPECT(what) \
	if (!(what)) \
	return __LINE__ % 256
	void *frames[64];
	int n = backtrace(frames, 64);
	const char *bottom = (const char *)frames[n - 1];
	extern const char _start[];

	EXPECT(argc == 4);
	EXPECT(!strcmp(argv[0], "zero") && !strcmp(argv[1], "child"));
	EXPECT(!strcmp(argv[2], "two words") && !*argv[3] && !argv[4]);
	EXPECT(environ == argv + argc + 1);
	EXPECT(!strcmp(environ[0], "A=1") && !environ[1]);
	EXPECT(getauxval(AT_EXECFN) && getauxval(AT_PAGESZ) == 4096);
	EXPECT(!strcmp(before.order, "g123"));
	EXPECT(before.argc == argc && before.argv == argv && before.env == environ);
	EXPECT(before.aligned && (uintptr_t)__builtin_frame_address(0) % 16 == 0);
	/* No frame lies above the first one. */
	EXPECT(bottom > _start && bottom < _start + 64);
	return 0;
}

/* ---- its parent ---- */

START_TEST(what_a_program_finds_and_who_is_told_of_its_end)
{
	char *argv[] = { "zero", "child", "two words", "", NULL },
	     *env[] = { "A=1", NULL };
	char text[128] = "";
	int pipes[2], status;
	pid_t pid;

	ck_assert_int_eq(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		dup2(pipes[1], 1);
		execve("/proc/self/exe", argv, env);
		_exit(255);
	}
	close(pipes[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_msg(!WEXITSTATUS(status), "line %d", WEXITSTATUS(status));
	ck_assert_int_ge(read(pipes[0], text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, "handlers destructors");
}
END_TEST

/* Of the two versions the one that each C library has. */
START_TEST(the_start_is_asked_for_as_old_ones_have_it)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "nm -D /proc/%d/exe | grep -q ' __libc_start_main@GLIBC_2.2.5$'",
		 getpid());
	ck_assert_int_eq(system(command), 0);
}
END_TEST

static void expect_file(const struct stat *st, int at, const char *path, int flags)
{
	struct statx want;

	ck_assert_int_eq(statx(at, path, flags, STATX_BASIC_STATS, &want), 0);
	ck_assert_uint_eq(st->st_ino, want.stx_ino);
	ck_assert_uint_eq(st->st_mode, want.stx_mode);
	ck_assert_int_eq(st->st_size, (off_t)want.stx_size);
	ck_assert_uint_eq(st->st_nlink, want.stx_nlink);
	ck_assert_int_eq(st->st_mtim.tv_sec, want.stx_mtime.tv_sec);
	ck_assert_int_eq(st->st_mtim.tv_nsec, want.stx_mtime.tv_nsec);
}

START_TEST(links_are_followed_or_not)
{
	char dir[] = "/tmp/unit-XXXXXX", path[64];
	struct stat st;
	int fd, at;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0640);
	ck_assert_int_eq(write(fd, "bytes", 5), 5);
	snprintf(path, sizeof(path), "%s/link", dir);
	ck_assert_int_eq(symlink("file", path), 0);
	at = open(dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	expect_file(&st, at, "file", 0);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	expect_file(&st, at, "link", AT_SYMLINK_NOFOLLOW);
	ck_assert_int_eq(fstat(fd, &st), 0);
	expect_file(&st, at, "file", 0);
	ck_assert_int_eq(fstatat(at, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	expect_file(&st, at, "link", AT_SYMLINK_NOFOLLOW);
	ck_assert_int_eq(fstatat(at, "link", &st, 0), 0);
	expect_file(&st, at, "file", 0);
	ck_assert_int_eq(stat("/no/such/file", &st), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(fstat(-1, &st), -1);
	ck_assert_int_eq(errno, EBADF);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tc;

#if defined SANITIZED_ADDRESS || defined SANITIZED_THREAD
	printf("a sanitizer brings a start of its own\n");
	return 77;
#endif
	if (argc > 1) {
		is_child = true;
		atexit(at_exit);
		return look(argc, argv);
	}
	tc = tcase_create("old_libc");
	tcase_add_test(tc, what_a_program_finds_and_who_is_told_of_its_end);
	tcase_add_test(tc, the_start_is_asked_for_as_old_ones_have_it);
	tcase_add_test(tc, links_are_followed_or_not);
	return unit_run(tc, "old_libc");
}
