/* SPDX-License-Identifier: Apache-2.0 */
/* Which file a call is about. What a file is like is said by the test: it takes the place
 * of aside.c. */
#include "agent/hooks/exec.h"
#include "agent/hooks/hook.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const aside_text[ASIDE_KINDS];
static char looked_at[8][PATH_MAX];
static unsigned looks;
static bool readable = true;

void aside_share(_Atomic uint64_t known[ASIDE_KNOWN])
{
	(void)known;
}

bool aside_known(const struct sys_stat *st, enum aside *why)
{
	(void)st, (void)why;
	return false;
}

/* The shell is static, and what is called text is one. */
enum aside aside_look(struct image *room, int dir, const char *path, int flags)
{
	(void)dir, (void)flags;
	strcpy(looked_at[looks++ % 8], path);
	errno = 55;
	room->kind = strstr(path, "text") ? IMAGE_TEXT : IMAGE_ELF;
	return strcmp(path, "/bin/sh") ? ASIDE_NO : ASIDE_STATIC;
}

bool aside_reads(const char *library)
{
	(void)library;
	errno = 56;
	return readable;
}

/* ---- the tests ---- */

int hook_test_execve(const char *path, char *const *argv, char *const *envp);
int hook_test_posix_spawn(pid_t *pid, const char *path,
			  const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const *argv,
			  char *const *envp);

static void *has_nothing(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

static char dir[64], text[128];

static void setup(void)
{
	int fd;

	strcpy(dir, "/tmp/exec-find-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(text, sizeof(text), "%s/text", dir);
	fd = open(text, O_RDWR | O_CREAT, 0700);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(setenv("PATH", dir, 1), 0);
	ck_assert_int_eq(chdir(dir), 0);
}

static void teardown(void)
{
	unlink(text);
	rmdir(dir);
}

static enum aside found(struct exec_call c)
{
	static const char agent[] = "/a/libproflaunch.so";
	struct exec_env e = { .preload = agent,
			      .word = agent,
			      .word_length = sizeof(agent) - 1,
			      .ours = true };
	enum aside why;

	c.dir = AT_FDCWD;
	errno = 77;
	why = exec_find(&c, &e);
	ck_assert_int_eq(errno, 77);
	return why;
}

/* A text without #! is the shell's where execvp finds it, and nobody's elsewhere. */
START_TEST(a_text_is_the_shells_by_execvp_alone)
{
	ck_assert_int_eq(found((struct exec_call){ .kind = EXEC_NAME, .path = "text" }),
			 ASIDE_STATIC);
	ck_assert_uint_eq(looks, 2);
	ck_assert_str_eq(looked_at[0], text);
	ck_assert_str_eq(looked_at[1], "/bin/sh");
	ck_assert_int_eq(found((struct exec_call){ .kind = EXEC_NAME, .path = text }),
			 ASIDE_STATIC);
	ck_assert_int_eq(found((struct exec_call){ .kind = EXEC_PATH, .path = text }),
			 ASIDE_NO);
	ck_assert_int_eq(
		found((struct exec_call){ .kind = EXEC_SPAWN_NAME, .path = text }),
		ASIDE_NO);
}
END_TEST

START_TEST(the_agent_must_be_readable_where_there_is_a_program)
{
	readable = false;
	ck_assert_int_eq(found((struct exec_call){ .kind = EXEC_PATH, .path = text }),
			 ASIDE_UNREADABLE);
	ck_assert_int_eq(found((struct exec_call){ .kind = EXEC_PATH, .path = "/no" }),
			 ASIDE_NO);
	ck_assert_int_eq(found((struct exec_call){ .kind = EXEC_PATH, .path = dir }),
			 ASIDE_NO);
	ck_assert_int_eq(found((struct exec_call){ .kind = EXEC_NAME, .path = "none" }),
			 ASIDE_NO);
}
END_TEST

/* A child that changes its directory first means another file by the same path. */
START_TEST(what_a_spawned_child_means_is_not_guessed)
{
	struct exec_call c = { .kind = EXEC_SPAWN, .path = "./text" };
	posix_spawn_file_actions_t actions;

	readable = false;
	ck_assert_int_eq(found(c), ASIDE_UNREADABLE);
	posix_spawn_file_actions_init(&actions);
	c.actions = &actions;
	ck_assert_int_eq(found(c), ASIDE_UNREADABLE); /* nothing is done first */
	posix_spawn_file_actions_addchdir_np(&actions, "/");
	looks = 0;
	ck_assert_int_eq(found(c), ASIDE_NO);
	ck_assert_uint_eq(looks, 0);
	c.path = text;
	ck_assert_int_eq(found(c), ASIDE_UNREADABLE);
	posix_spawn_file_actions_destroy(&actions);
}
END_TEST

/* A child that becomes its real user first may not read what we may, and the reverse. */
START_TEST(what_another_user_may_run_is_not_guessed)
{
	struct exec_call c = { .kind = EXEC_SPAWN, .path = text };
	posix_spawnattr_t attr;

	posix_spawnattr_init(&attr);
	c.attr = &attr;
	readable = false;
	for (int other = 0; other < 2; other++) {
		if (other && (chmod(dir, 0755) || seteuid(65534)))
			return; /* only root can be two */
		for (int resets = 0; resets < 2; resets++) {
			posix_spawnattr_setflags(&attr,
						 resets ? POSIX_SPAWN_RESETIDS |
								  POSIX_SPAWN_SETPGROUP
							: POSIX_SPAWN_SETPGROUP);
			ck_assert_int_eq(found(c),
					 other && resets ? ASIDE_NO : ASIDE_UNREADABLE);
		}
	}
	ck_assert_int_eq(seteuid(0), 0);
	posix_spawnattr_destroy(&attr);
}
END_TEST

START_TEST(an_empty_entry_of_path_is_the_current_directory)
{
	ck_assert_int_eq(setenv("PATH", "/nowhere::/", 1), 0);
	found((struct exec_call){ .kind = EXEC_NAME, .path = "text" });
	ck_assert_uint_eq(looks, 2);
	ck_assert_str_eq(looked_at[0], "text");
}
END_TEST

/* As execvp: a directory of that name is none of the files that may be run. */
START_TEST(a_directory_is_not_what_path_leads_to)
{
	char path[256], inside[160];

	snprintf(inside, sizeof(inside), "%s/first", dir);
	ck_assert_int_eq(mkdir(inside, 0700), 0);
	snprintf(path, sizeof(path), "%s/text", inside);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s:%s", inside, dir);
	ck_assert_int_eq(setenv("PATH", path, 1), 0);
	ck_assert_int_eq(found((struct exec_call){ .kind = EXEC_NAME, .path = "text" }),
			 ASIDE_STATIC);
	ck_assert_str_eq(looked_at[0], text);
}
END_TEST

START_TEST(without_the_real_functions_each_says_so_in_its_way)
{
	char *none[] = { NULL };

	hook_real_dlsym = has_nothing;
	ck_assert_int_eq(hook_test_posix_spawn(NULL, text, NULL, NULL, none, none),
			 ENOSYS);
	ck_assert_int_eq(hook_test_execve(text, none, none), -1);
	ck_assert_int_eq(errno, ENOSYS);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("exec find");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_text_is_the_shells_by_execvp_alone);
	tcase_add_test(tc, the_agent_must_be_readable_where_there_is_a_program);
	tcase_add_test(tc, what_a_spawned_child_means_is_not_guessed);
	tcase_add_test(tc, what_another_user_may_run_is_not_guessed);
	tcase_add_test(tc, an_empty_entry_of_path_is_the_current_directory);
	tcase_add_test(tc, a_directory_is_not_what_path_leads_to);
	tcase_add_test(tc, without_the_real_functions_each_says_so_in_its_way);
	return unit_run(tc, "exec_find");
}
