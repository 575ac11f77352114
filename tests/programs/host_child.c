/* SPDX-License-Identifier: Apache-2.0 */
/* child KIND... - children of every kind; then asks whether there is one that it did not
 * make. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What may be called between vfork and exec, or in a clone without locks. */
static void tell(const char *text)
{
	ssize_t n = write(1, text, strlen(text));

	_exit(n == (ssize_t)strlen(text) ? 11 : 12);
}

static int in_clone(void *unused)
{
	(void)unused;
	free(malloc(100));
	tell("clone\n");
	return 0;
}

static pid_t start(const char *kind)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	char *words[] = { "sh", "-c", "echo spawned; exit 11", NULL };
	pid_t pid = -1;

	if (!strcmp(kind, "fork")) {
		pid = fork();
		if (!pid) {
			free(malloc(100000));
			tell("fork\n");
		}
	} else if (!strcmp(kind, "_Fork")) {
		pid = _Fork();
		if (!pid)
			tell("_Fork\n");
	} else if (!strcmp(kind, "rawfork")) {
		pid = (pid_t)syscall(SYS_fork);
		if (!pid)
			tell("rawfork\n");
	} else if (!strcmp(kind, "clone")) {
		pid = clone(in_clone, stack + sizeof(stack), SIGCHLD, NULL);
	} else if (!strcmp(kind, "clonevm")) {
		pid = clone(in_clone, stack + sizeof(stack),
			    CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	} else if (!strcmp(kind, "clonefiles")) {
		pid = clone(in_clone, stack + sizeof(stack), CLONE_FILES | SIGCHLD, NULL);
	} else if (!strcmp(kind, "spawn")) {
		posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ);
	} else if (!strcmp(kind, "spawnp")) {
		posix_spawnp(&pid, "sh", NULL, NULL, words, environ);
	}
	return pid;
}

/* vfork's child must not return from the function that called it. */
#define START_BY_VFORK(pid)                                                   \
	do {                                                                  \
		pid = vfork();                                                \
		if (!pid) {                                                   \
			execl("/bin/sh", "sh", "-c", "echo vforked; exit 11", \
			      (char *)NULL);                                  \
			_exit(127);                                           \
		}                                                             \
	} while (0)

static void use(const char *kind)
{
	int status = 0;
	pid_t pid = -1;

	if (!strcmp(kind, "system")) {
		status = system("echo system; exit 11");
	} else if (!strcmp(kind, "popen")) {
		char line[64] = "";
		FILE *file = popen("echo popen; exit 11", "r");

		if (file && fgets(line, sizeof(line), file))
			fputs(line, stdout);
		status = file ? pclose(file) : -1;
	} else {
		if (!strcmp(kind, "vfork"))
			START_BY_VFORK(pid);
		else
			pid = start(kind);
		waitpid(pid, &status, __WALL);
	}
	printf("%s: %x\n", kind, (unsigned)status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 20000; i++)
		free(malloc(1000));
	for (int i = 1; i < argc; i++)
		use(argv[i]);
	errno = 0;
	printf("nobody else: %d",
	       waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	errno = 0;
	printf(" %d\n", waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
	return 0;
}
