/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers that lead nowhere: what they mean is the kernel's to say. */
#include "agent/hooks/exec.h"
#include "agent/hooks/hook.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define US "LD_PRELOAD=/a/libproflaunch.so"

int hook_test_execve(const char *path, char *const *argv, char *const *envp);
int hook_test_posix_spawn(pid_t *pid, const char *path,
			  const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const *argv,
			  char *const *envp);

static char *page, *wall; /* the one ends where the other begins, which nobody reads */

static void setup(void)
{
	hook_start(&(struct hook_listener){ 0 });
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	wall = page + 4096;
	ck_assert_int_eq(mprotect(wall, 4096, PROT_NONE), 0);
}

/* A text whose last byte is the page's; with its end, or without. */
static char *at_wall(const char *text, size_t end)
{
	return memcpy(wall - strlen(text) - end, text, strlen(text) + end);
}

static bool is_ours(char **env)
{
	struct exec_env e;

	errno = 7;
	exec_env_read(&e, env);
	ck_assert_int_eq(errno, 7);
	return e.ours;
}

START_TEST(a_list_that_cannot_be_read_is_nobodys)
{
	char **list = (char **)wall - 2;

	ck_assert(!is_ours((char **)wall));
	list[0] = (char *)US;
	list[1] = (char *)"A=1"; /* its end is not there */
	ck_assert(!is_ours(list));
	list[1] = NULL;
	ck_assert(is_ours(list));
	/* A pointer of which half can be read. */
	memmove(wall - 12, list, 12);
	ck_assert(!is_ours((char **)(wall - 12)));
}
END_TEST

START_TEST(a_row_that_cannot_be_read_is_nobodys)
{
	char *env[] = { (char *)US, wall, NULL };

	ck_assert(!is_ours(env));
	env[1] = (char *)16;
	ck_assert(!is_ours(env));
	env[1] = (char *)-16;
	ck_assert(!is_ours(env));
	env[1] = (char *)(1ull << 52); /* no address at all */
	ck_assert(!is_ours(env));
	env[1] = at_wall("PROF_JOB=/a/b.job", 0);
	ck_assert(!is_ours(env));
	env[1] = at_wall("PROF_JOB=/a/b.job", 1);
	ck_assert(is_ours(env));
	/* Of a row that is no concern of ours the first byte is enough. */
	env[1] = at_wall("A", 0);
	ck_assert(is_ours(env));
	env[0] = at_wall(US, 1);
	env[1] = NULL;
	ck_assert(is_ours(env));
}
END_TEST

START_TEST(a_long_row_is_read_to_its_end)
{
	size_t size = 200 << 10;
	char *row = malloc(size), *env[] = { (char *)US, row, NULL };

	memset(row, 'P', size);
	row[100 << 10] = '\0';
	ck_assert(is_ours(env));
	/* The kernel takes none that is longer than 128 KiB. */
	row[100 << 10] = 'P';
	row[size - 1] = '\0';
	ck_assert(!is_ours(env));
	free(row);
}
END_TEST

/* More pages than are remembered, and each of them twice. */
START_TEST(a_page_is_asked_for_again_when_it_was_forgotten)
{
	char *many = mmap(NULL, 40 * 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *env[82] = { (char *)US };

	for (unsigned i = 0; i < 80; i++)
		env[i + 1] = strcpy(many + i % 40 * 4096 + 8 * i, "A=1");
	ck_assert(is_ours(env));
	mprotect(many + 39 * 4096, 4096, PROT_NONE);
	ck_assert(!is_ours(env));
}
END_TEST

START_TEST(exec_says_what_the_kernel_says)
{
	char *argv[] = { (char *)"true", NULL }, *env[] = { (char *)US, wall, NULL };

	ck_assert_int_eq(hook_test_execve("/bin/true", argv, (char **)wall), -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(hook_test_execve("/bin/true", argv, env), -1);
	ck_assert_int_eq(errno, EFAULT);
	env[1] = NULL;
	ck_assert_int_eq(hook_test_execve("/bin/true", (char **)wall, env), -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(hook_test_execve(wall, argv, env), -1);
	ck_assert_int_eq(errno, EFAULT);
}
END_TEST

/* With a file action the path alone does not say which file is meant. */
START_TEST(a_spawn_of_a_bad_path_fails_in_the_child)
{
	char *argv[] = { (char *)"true", NULL }, *env[] = { (char *)US, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addclose(&actions, 200);
	ck_assert_int_eq(hook_test_posix_spawn(&pid, wall, &actions, NULL, argv, env),
			 EFAULT);
	ck_assert_int_eq(hook_test_posix_spawn(&pid, wall, NULL, NULL, argv, env),
			 EFAULT);
	ck_assert_int_eq(hook_test_posix_spawn(&pid, at_wall("/bin/tru", 0), &actions,
					       NULL, argv, env),
			 EFAULT);
	posix_spawn_file_actions_destroy(&actions);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("exec seen");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_list_that_cannot_be_read_is_nobodys);
	tcase_add_test(tc, a_row_that_cannot_be_read_is_nobodys);
	tcase_add_test(tc, a_long_row_is_read_to_its_end);
	tcase_add_test(tc, a_page_is_asked_for_again_when_it_was_forgotten);
	tcase_add_test(tc, exec_says_what_the_kernel_says);
	tcase_add_test(tc, a_spawn_of_a_bad_path_fails_in_the_child);
	return unit_run(tc, "exec_seen");
}
