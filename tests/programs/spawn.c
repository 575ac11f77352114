/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn - a program that makes children in every way, and says how each went.
 *
 * Its output and status must be the same with the agent and without.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
void proflaunch_step(void) __attribute__((weak));

static void step(void)
{
	if (proflaunch_step)
		proflaunch_step();
}

static void report(const char *what, pid_t pid)
{
	int status = -1;

	if (pid > 0 && waitpid(pid, &status, 0) != pid)
		perror(what);
	printf("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fflush(stdout);
}

static void fork_and_steps(void)
{
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 10; i++)
			step();
		exit(11);
	}
	report("fork", pid);
}

static void fork_and_exit_at_once(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(12);
	report("fork, _exit", pid);
}

static void fork_and_die(void)
{
	pid_t pid = fork();

	if (!pid) {
		step();
		raise(SIGKILL);
	}
	report("fork, killed", pid);
}

static void vfork_and_exec(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", "exit 13", (char *)NULL);
		_exit(99);
	}
	report("vfork, exec", pid);
	pid = vfork();
	if (!pid) {
		execl("/no/such/program", "x", (char *)NULL);
		_exit(errno == ENOENT ? 14 : 98);
	}
	report("vfork, exec fails", pid);
}

/* No thread may come to such a child: locks of the C library's may be held there for
 * ever. */
static void raw_clone(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid) {
		struct stat tasks = { .st_nlink = 0 };

		for (int i = 0; i < 10; i++)
			step();
		stat("/proc/self/task", &tasks);
		syscall(SYS_exit_group, tasks.st_nlink == 3 ? 15 : 21);
	}
	report("clone", pid);
}

static void spawned(void)
{
	char *good[] = { "sh", "-c", "exit 16", NULL };
	char *bad[] = { "x", NULL };
	pid_t pid = 0;
	int err = posix_spawn(&pid, "/bin/sh", NULL, NULL, good, environ);

	printf("posix_spawn: %s\n", strerror(err));
	report("posix_spawn", pid);
	err = posix_spawn(&pid, "/no/such/program", NULL, NULL, bad, environ);
	printf("posix_spawn fails: %s\n", strerror(err));
	printf("system: %d\n", WEXITSTATUS(system("exit 17")));
	fflush(stdout);
}

static void grandchildren(void)
{
	pid_t pid = fork();

	if (!pid) {
		pid_t inner = fork();

		if (!inner) {
			step();
			quick_exit(18);
		}
		report("grandchild", inner);
		execl("/bin/sh", "sh", "-c", "echo exec after fork; exit 19",
		      (char *)NULL);
		_exit(97);
	}
	report("child", pid);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		step();
	fork_and_steps();
	fork_and_exit_at_once();
	fork_and_die();
	vfork_and_exec();
	raw_clone();
	spawned();
	grandchildren();
	errno = E2BIG;
	step();
	printf("errno: %s\n", strerror(errno));
	return 20;
}
