/* SPDX-License-Identifier: Apache-2.0 */
/* Environments without us, and what is counted where. */
#include "agent/core/clock.h"
#include "agent/core/job_count.h"
#include "agent/hooks/exec.h"
#include "agent/hooks/hook.h"
#include "base/sys.h"
#include "config/own_env.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(rows_that_are_ours_are_told_from_others)
{
	static const char *const ours[] = {
		"PROF_LOGDIR=/tmp",   "PROF_JOB=/x.job",
		"PROF_METADATA_a=b",  "PROF_BUFFER_MB=1",
		"PROF_QUIET=",        "CUDA_INJECTION64_PATH=/a/libproflaunch.so",
		"PROF_logdir=/tmp",   "PROF_Buffer-MB=1",
		"PROF_WITH_STACK=on", "PROF_WITH_FLOPS=on",
	};
	static const char *const others[] = {
		"PROF_",
		"PROF_X=1",
		"PROF_LOGDIRS=/tmp",
		"PROF_JOBS=1",
		"PROFIT=1",
		"LD_PRELOAD=/a/libproflaunch.so",
		"PROF_LOGDIR",
		"",
		"CUDA_INJECTION64_PATH=/a/libother.so",
		"CUDA_INJECTION64_PATH=/a/my-libproflaunch.so",
	};

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		ck_assert_msg(own_env_is(ours[i]), "%s", ours[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		ck_assert_msg(!own_env_is(others[i]), "%s", others[i]);
}
END_TEST

START_TEST(other_preloads_stay)
{
	static const char *const rows[][2] = {
		{ "/a/libproflaunch.so", "" },
		{ "libproflaunch.so", "" },
		{ "/a/libproflaunch.so:/b.so", "/b.so" },
		{ "/b.so /a/libproflaunch.so", "/b.so" },
		{ "::/b.so: /a/libproflaunch.so  c.so:", "/b.so:c.so" },
		{ "/a/xlibproflaunch.so", "/a/xlibproflaunch.so" },
		{ "/libproflaunch.so:/c/libproflaunch.so", "" },
		{ "", "" },
		{ "a", "a" },
		/* Behind us, and only there, the launcher names two more. */
		{ "/a/libproflaunch.so:libpthread.so.0:libdl.so.2", "" },
		{ "libdl.so.2:/a/libproflaunch.so:libdl.so.2:b.so", "libdl.so.2:b.so" },
		{ "/a/libproflaunch.so:b.so:libdl.so.2", "b.so:libdl.so.2" },
		{ "libpthread.so.0", "libpthread.so.0" },
	};
	char buf[100];
	size_t len;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t n = own_env_others(rows[i][0], buf, strlen(rows[i][0]) + 1);

		ck_assert_str_eq(buf, rows[i][1]);
		ck_assert_uint_eq(n, strlen(buf));
	}
	ck_assert_ptr_null(own_env_word("/a/xlibproflaunch.so", &len));
	ck_assert_ptr_null(own_env_word(": ", &len));
	ck_assert_uint_eq(own_env_others("abc def", buf, 4), 3);
	ck_assert_str_eq(buf, "abc");
	memset(buf, '#', sizeof(buf));
	ck_assert_uint_eq(own_env_others("ab cd", buf, 5), 2);
	ck_assert_str_eq(buf, "ab");
	ck_assert_int_eq(buf[5], '#');
	ck_assert_uint_eq(own_env_others("ab cd", buf, 6), 5);
	ck_assert_int_eq(buf[6], '#');
}
END_TEST

START_TEST(an_environment_is_copied_without_us)
{
	char *env[] = { "A=1",
			"LD_PRELOAD=/x.so:/a/libproflaunch.so:/y.so",
			"PROF_LOGDIR=/tmp",
			"PROF_OF=mine",
			"PROF_JOB=/a/b.job",
			"CUDA_INJECTION64_PATH=/a/libproflaunch.so",
			"LD_PRELOAD=/a/libproflaunch.so",
			"LC_ALL=C",
			NULL };
	struct exec_env e;
	char **copy, *room;

	exec_env_read(&e, env);
	ck_assert(e.ours);
	ck_assert_str_eq(e.job, "/a/b.job");
	ck_assert_uint_le(e.size, 2048);
	room = malloc(e.size); /* so that a byte too far is seen */
	copy = exec_env_make(room, e.size, env);
	ck_assert_ptr_eq(copy[0], env[0]);
	ck_assert_str_eq(copy[1], "LD_PRELOAD=/x.so:/y.so");
	ck_assert_ptr_eq(copy[2], env[3]);
	ck_assert_ptr_eq(copy[3], env[7]);
	ck_assert_ptr_null(copy[4]);
	free(room);
}
END_TEST

START_TEST(an_environment_without_us_is_not_ours)
{
	char *env[] = { "LD_PRELOAD=/x.so", "PROF_LOGDIR=/tmp", NULL };
	struct exec_env e;

	exec_env_read(&e, env);
	ck_assert(!e.ours);
	exec_env_read(&e, NULL);
	ck_assert(!e.ours);
	exec_env_read(&e, (char **)1);
	ck_assert(!e.ours);
	exec_env_read(&e, (char **)-8);
	ck_assert(!e.ours);
}
END_TEST

START_TEST(room_for_an_environment_is_used_again)
{
	void *first = exec_copy_take(5000), *second = exec_copy_take(5000);

	ck_assert_ptr_ne(first, second);
	memset(first, 1, 5000);
	memset(second, 2, 5000);
	exec_copy_give(first);
	ck_assert_ptr_eq(exec_copy_take(9000), first);
	ck_assert_ptr_ne(exec_copy_take(1 << 20), second);
}
END_TEST

/* What the kernel would clear at the end of this thread is what it was before. */
START_TEST(a_child_whose_exec_failed_is_as_it_was)
{
	pid_t pid = vfork();
	void *before, *after, *room;
	int status;

	if (!pid) {
		prctl(PR_GET_TID_ADDRESS, &before);
		room = exec_copy_take(5000);
		prctl(PR_GET_TID_ADDRESS, &after);
		if (before == after)
			_exit(2);
		exec_copy_give(room);
		prctl(PR_GET_TID_ADDRESS, &after);
		_exit(before == after ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

static unsigned pages_mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned n = 0;

	while (fgets(line, sizeof(line), f))
		n += strstr(line, "/" JOB_PAGE "\n") != NULL;
	fclose(f);
	return n;
}

static void count_without_memory(const char *path)
{
	struct rlimit limit = { 0, RLIM_INFINITY };
	char text[256];

	ck_assert_int_gt(sys_read_file("/proc/self/statm", text, sizeof(text)), 0);
	limit.rlim_cur = strtoul(text, NULL, 10) * 4096;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	errno = 77;
	job_count_aside(path, ASIDE_MUSL, 1);
	ck_assert_int_eq(errno, 77);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

START_TEST(a_page_is_counted_on_wherever_it_is)
{
	char dir[] = "/tmp/test_exec.XXXXXX", path[256];
	unsigned files = seam_open_files(), maps;
	struct job_page *page;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(job_make(dir, 1), 0);
	job_name(path, sizeof(path));
	job_count_aside(path, ASIDE_MUSL, 1);
	job_count_aside(NULL, ASIDE_MUSL, 1);
	ck_assert_uint_eq(job->aside[ASIDE_MUSL], 2);
	page = job;
	job = NULL;
	maps = pages_mapped();
	errno = 77;
	job_count_aside(path, ASIDE_MUSL, 2);
	job_count_aside(path, ASIDE_STATIC, 1);
	job_count_aside(path, ASIDE_MUSL, -1);
	job_count_inner(path);
	job_count_inner(NULL);
	/* Nothing that is no such page is touched. */
	job_count_aside("/dev/zero", ASIDE_MUSL, 1);
	job_count_aside(dir, ASIDE_MUSL, 1);
	job_count_aside("/etc/passwd", ASIDE_MUSL, 1);
	job_count_aside("", ASIDE_MUSL, 1);
	ck_assert_int_eq(errno, 77);
	ck_assert_uint_eq(page->aside[ASIDE_MUSL], 3);
	ck_assert_uint_eq(page->aside[ASIDE_STATIC], 1);
	ck_assert_uint_eq(page->inner, 1);
	ck_assert_uint_eq(page->slot[0].pid, 0);
	/* Each count maps the page for a moment, and a page of another is not written. */
	for (int i = 0; i < 100; i++)
		job_count_aside(path, ASIDE_MUSL, i % 2 ? 1 : -1);
	ck_assert_uint_eq(seam_open_files(), files);
	ck_assert_uint_eq(pages_mapped(), maps);
	if (!geteuid()) {
		ck_assert_int_eq(chown(strchr(path, ':') + 1, 65533, 65533), 0);
		job_count_aside(path, ASIDE_MUSL, 1);
		ck_assert_int_eq(chown(strchr(path, ':') + 1, 0, 0), 0);
	}
	ck_assert_uint_eq(page->aside[ASIDE_MUSL], 3);
	count_without_memory(path);
	/* What is mapped is counted on when its file is out of reach. */
	job = page;
	ck_assert_int_eq(rename(dir, "/tmp/test_exec.moved"), 0);
	job_count_aside(path, ASIDE_RIGHTS, 1);
	ck_assert_uint_eq(page->aside[ASIDE_RIGHTS], 1);
	ck_assert_int_eq(rename("/tmp/test_exec.moved", dir), 0);
	/* A page of another job is not this one. */
	job_count_aside("/nowhere/other_1.2/page", ASIDE_FOREIGN, 1);
	ck_assert_uint_eq(page->aside[ASIDE_FOREIGN], 0);
	job_unmake();
}
END_TEST

int hook_test_execve(const char *path, char *const *argv, char *const *envp);
int hook_test_execvpe(const char *path, char *const *argv, char *const *envp);
int hook_test_execle(const char *path, const char *arg, ...);

#define US "LD_PRELOAD=/nowhere/libproflaunch.so"

/* The agent cannot be read there, so each of these runs without it. */
static int status_of(int which, char *const *envp)
{
	char *argv[] = { "sh", "-c", "exit ${LD_PRELOAD:+9}${N:-0}", NULL };
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (which == 0)
			hook_test_execve("/bin/sh", argv, envp);
		else if (which == 1)
			hook_test_execvpe("sh", argv, envp);
		else
			hook_test_execle("/bin/sh", "sh", "-c", argv[2], NULL, envp);
		_exit(99);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

START_TEST(a_program_runs_without_us_in_any_size_of_environment)
{
	static char text[6000][16];
	char *env[6000];

	hook_start(&(struct hook_listener){ 0 });
	for (unsigned rows = 3; rows < 6000; rows = rows * 3 + 1)
		for (int which = 0; which < 3; which++) {
			for (unsigned i = 0; i < rows; i++) {
				snprintf(text[i], sizeof(text[i]), "V%u=%u", i, i);
				env[i] = text[i];
			}
			env[rows / 2] = US;
			env[0] = "N=7";
			env[rows - 1] = NULL;
			ck_assert_int_eq(status_of(which, env), 7);
		}
}
END_TEST

START_TEST(a_failed_exec_is_told_as_it_is)
{
	char *argv[] = { "x", NULL }, *env[] = { US, NULL };

	hook_start(&(struct hook_listener){ 0 });
	errno = 0;
	ck_assert_int_eq(hook_test_execve("/nowhere", argv, env), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(hook_test_execve("/dev/null", argv, env), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_int_eq(hook_test_execve(NULL, argv, env), -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(hook_test_execve("/bin/sh", argv, (char **)16), -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(hook_test_execvpe("", argv, env), -1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("exec");

	clock_start();
	tcase_add_test(tc, rows_that_are_ours_are_told_from_others);
	tcase_add_test(tc, other_preloads_stay);
	tcase_add_test(tc, an_environment_is_copied_without_us);
	tcase_add_test(tc, an_environment_without_us_is_not_ours);
	tcase_add_test(tc, room_for_an_environment_is_used_again);
	tcase_add_test(tc, a_child_whose_exec_failed_is_as_it_was);
	tcase_add_test(tc, a_page_is_counted_on_wherever_it_is);
	tcase_add_test(tc, a_program_runs_without_us_in_any_size_of_environment);
	tcase_add_test(tc, a_failed_exec_is_told_as_it_is);
	return unit_run(tc, "exec");
}
