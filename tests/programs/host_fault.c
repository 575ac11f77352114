/* SPDX-License-Identifier: Apache-2.0 */
/* fault - calls that start a program, with pointers that lead nowhere: EFAULT. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *argv[] = { "true", NULL };

static void tell(const char *what, int result, int err)
{
	printf("%s: %d, %s\n", what, result, strerror(err));
}

static int spawn(int (*fn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const *, char *const *),
		 const char *path, char **env)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;
	int err;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addclose(&actions, 200);
	err = fn(&pid, path, &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	if (!err)
		waitpid(pid, NULL, 0);
	return err;
}

int main(void)
{
	char *area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	char *bad = area + 4096, *rows[] = { (char *)"A=1", bad, NULL };
	char **ends = (char **)bad - 1;
	char **lists[] = { (char **)bad, rows, ends, (char **)16, (char **)-16 };

	setvbuf(stdout, NULL, _IONBF, 0);
	mprotect(bad, 4096, PROT_NONE);
	ends[0] = "A=1";
	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		int result = execve("/bin/true", argv, lists[i]);

		tell("environment", result, errno);
		tell("spawned with it", 0, spawn(posix_spawn, "/bin/true", lists[i]));
	}
	tell("arguments", execve("/bin/true", (char **)bad, environ), errno);
	tell("path", execve(bad, argv, environ), errno);
	tell("spawned", 0, spawn(posix_spawn, bad, environ));
	/* The child reads the name itself. */
	tell("spawned by name", 0, spawn(posix_spawnp, bad, environ));
	return 0;
}
