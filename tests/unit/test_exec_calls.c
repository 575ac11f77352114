/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted of calls that start programs without us, and the room for their
 * environments. */
#include "agent/core/clock.h"
#include "agent/core/job_count.h"
#include "agent/hooks/exec.h"
#include "agent/hooks/hook.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define US "LD_PRELOAD=/nowhere/libproflaunch.so" /* cannot be read there */

int hook_test_execve(const char *path, char *const *argv, char *const *envp);
int hook_test_posix_spawn(pid_t *pid, const char *path,
			  const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const *argv,
			  char *const *envp);

static char page_row[300];
static char *env[600] = { US, page_row };

static void setup(void)
{
	char dir[] = "/tmp/exec-calls-XXXXXX";

	clock_start();
	hook_start(&(struct hook_listener){ 0 });
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(job_make(dir, 1), 0);
	strcpy(page_row, "PROF_JOB=");
	job_name(page_row + 9, sizeof(page_row) - 9);
}

static void teardown(void)
{
	job_unmake();
}

static int spawned(const char *path)
{
	char *argv[] = { (char *)"x", NULL };
	pid_t pid = 0;
	int result = hook_test_posix_spawn(&pid, path, NULL, NULL, argv, env), status;

	if (!result)
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return result;
}

static void *nobody_looks(void *handle, const char *name)
{
	(void)handle, (void)name;
	abort();
}

/* In a child of a process with threads the loader may be locked for ever. */
START_TEST(no_function_is_looked_up_at_an_exec)
{
	hook_real_dlsym = nobody_looks;
	ck_assert_int_eq(spawned("/bin/true"), 0);
	ck_assert_int_eq(spawned("/etc/passwd"), EACCES);
}
END_TEST

/* A file that nobody may run. */
START_TEST(an_exec_that_fails_is_not_counted)
{
	char *argv[] = { (char *)"x", NULL };

	ck_assert_int_eq(hook_test_execve("/etc/passwd", argv, env), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_uint_eq(atomic_load(&job->aside[ASIDE_UNREADABLE]), 0);
}
END_TEST

START_TEST(an_exec_is_counted_once)
{
	char *argv[] = { (char *)"x", NULL };
	int status;
	pid_t pid = fork();

	if (!pid) {
		hook_test_execve("/bin/true", argv, env);
		_exit(99);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(atomic_load(&job->aside[ASIDE_UNREADABLE]), 1);
}
END_TEST

/* What the loader lists for ldd is the program's, and nothing runs that could be counted.
 */
START_TEST(a_list_of_libraries_is_the_programs)
{
	char *argv[] = { (char *)"true", NULL }, text[8192];
	int pipes[2], status;
	ssize_t n, size = 0;
	pid_t pid;

	ck_assert_int_eq(pipe(pipes), 0);
	env[2] = (char *)"LD_TRACE_LOADED_OBJECTS=1";
	pid = fork();
	if (!pid) {
		dup2(pipes[1], 1);
		dup2(pipes[1], 2);
		hook_test_execve("/bin/true", argv, env);
		_exit(99);
	}
	close(pipes[1]);
	while ((n = read(pipes[0], text + size, sizeof(text) - 1 - (size_t)size)) > 0)
		size += n;
	text[size] = '\0';
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_ptr_nonnull(strstr(text, "libc.so"));
	ck_assert_ptr_null(strstr(text, "proflaunch"));
	for (unsigned i = 0; i < ASIDE_KINDS; i++)
		ck_assert_uint_eq(atomic_load(&job->aside[i]), 0);
}
END_TEST

START_TEST(a_spawn_is_counted_where_something_was_spawned)
{
	ck_assert_int_eq(spawned("/etc/passwd"), EACCES);
	ck_assert_uint_eq(atomic_load(&job->aside[ASIDE_UNREADABLE]), 0);
	ck_assert_int_eq(spawned("/bin/true"), 0);
	ck_assert_uint_eq(atomic_load(&job->aside[ASIDE_UNREADABLE]), 1);
}
END_TEST

START_TEST(a_large_environments_room_is_given_back)
{
	void *room = exec_copy_take(5000);

	exec_copy_give(room);
	for (unsigned i = 2; i < 599; i++)
		env[i] = (char *)"A=1"; /* more than lies on the stack */
	ck_assert_int_eq(spawned("/bin/true"), 0);
	ck_assert_int_eq(spawned("/etc/passwd"), EACCES);
	ck_assert_ptr_eq(exec_copy_take(5000), room);
}
END_TEST

START_TEST(a_room_is_as_large_as_is_asked_for)
{
	void *small = exec_copy_take(5000), *large;

	exec_copy_give(small);
	large = exec_copy_take(20000);
	ck_assert_ptr_ne(large, small);
	memset(large, 1, 20000);
	exec_copy_give(large);
	ck_assert_ptr_eq(exec_copy_take(20000), large);
	ck_assert_ptr_eq(exec_copy_take(5000), small);
}
END_TEST

/* Its own page is told, for the environment names none. */
START_TEST(a_cleared_environment_is_counted)
{
	char *bare[] = { (char *)"A=1", NULL }, *argv[] = { (char *)"x", NULL };
	int status;
	pid_t pid;

	ck_assert_int_eq(hook_test_execve("/etc/passwd", argv, bare), -1);
	ck_assert_int_eq(hook_test_execve("/bin/true", argv, (char **)8), -1);
	ck_assert_uint_eq(atomic_load(&job->aside[ASIDE_CLEARED]), 0);
	pid = fork();
	if (!pid) {
		hook_test_execve("/bin/true", argv, bare);
		_exit(99);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(atomic_load(&job->aside[ASIDE_CLEARED]), 1);
	ck_assert_int_eq(hook_test_posix_spawn(&pid, "/bin/true", NULL, NULL, argv, bare),
			 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_uint_eq(atomic_load(&job->aside[ASIDE_CLEARED]), 2);
}
END_TEST

START_TEST(only_a_whole_environment_is_cleared)
{
	char *bare[] = { (char *)"A=1", NULL };
	char *lists[] = { (char *)"LD_TRACE_LOADED_OBJECTS=1", NULL };
	char *valgrind[] = { (char *)"VALGRIND_LAUNCHER=/usr/bin/valgrind", NULL };
	struct exec_env e;

	exec_env_read(&e, bare);
	ck_assert(e.cleared);
	exec_env_read(&e, env);
	ck_assert(!e.cleared);
	exec_env_read(&e, lists);
	ck_assert(!e.cleared);
	exec_env_read(&e, valgrind);
	ck_assert(!e.cleared);
	exec_env_read(&e, (char **)8);
	ck_assert(!e.cleared);
}
END_TEST

/* ---- environments ---- */

START_TEST(our_injection_alone_is_ours)
{
	char *mine[] = { (char *)"CUDA_INJECTION64_PATH=/a/libproflaunch.so", NULL };
	char *others[] = { (char *)"CUDA_INJECTION64_PATH=/a/other.so", NULL };
	char *both[] = { (char *)US, others[0], NULL };
	struct exec_env e;

	exec_env_read(&e, mine);
	ck_assert(e.ours);
	exec_env_read(&e, others);
	ck_assert(!e.ours);
	exec_env_read(&e, both);
	ck_assert(e.ours);
}
END_TEST

/* It is a static program that loads others. */
START_TEST(valgrind_keeps_us)
{
	char *rows[] = { (char *)US, (char *)"VALGRIND_LAUNCHER=/usr/bin/valgrind",
			 NULL };
	struct exec_env e;

	exec_env_read(&e, rows);
	ck_assert(!e.ours);
}
END_TEST

/* Another thread adds to it between the two; behind the room nothing is mapped. */
START_TEST(an_environment_that_has_grown_is_not_copied)
{
	char *before[] = { (char *)"A=1", (char *)US ":/x.so", (char *)"B=1", NULL };
	char *after[20] = { (char *)"A=1", (char *)US ":/x.so" };
	struct exec_env e;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0),
	     *room;

	ck_assert_ptr_ne(page, MAP_FAILED);
	munmap(page + 4096, 4096);
	exec_env_read(&e, before);
	room = page + 4096 - ((e.size + 7) & ~7ul);
	ck_assert_ptr_nonnull(exec_env_make(room, e.size, before));
	for (unsigned n = 3; n < 19; n++) {
		after[n - 1] = (char *)"C=1";
		memset(page, 'x', 4096);
		/* One row more may still fit. */
		ck_assert(n <= 4 || !exec_env_make(room, e.size, after));
		ck_assert_int_eq(room[-1], 'x');
	}
	after[2] = (char *)US ":/y.so:/z.so"; /* and a longer text */
	ck_assert_ptr_null(exec_env_make(room, e.size, after));
	ck_assert_int_eq(room[-1], 'x');
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("exec calls");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, no_function_is_looked_up_at_an_exec);
	tcase_add_test(tc, an_exec_that_fails_is_not_counted);
	tcase_add_test(tc, an_exec_is_counted_once);
	tcase_add_test(tc, a_list_of_libraries_is_the_programs);
	tcase_add_test(tc, a_spawn_is_counted_where_something_was_spawned);
	tcase_add_test(tc, a_large_environments_room_is_given_back);
	tcase_add_test(tc, a_room_is_as_large_as_is_asked_for);
	tcase_add_test(tc, a_cleared_environment_is_counted);
	tcase_add_test(tc, only_a_whole_environment_is_cleared);
	tcase_add_test(tc, our_injection_alone_is_ours);
	tcase_add_test(tc, valgrind_keeps_us);
	tcase_add_test(tc, an_environment_that_has_grown_is_not_copied);
	return unit_run(tc, "exec_calls");
}
