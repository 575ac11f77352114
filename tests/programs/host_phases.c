/* SPDX-License-Identifier: Apache-2.0 */
/* phases [ALLOCATIONS] - tells strace what it does next: each mark is a write to no
 * descriptor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void mark(const char *phase)
{
	if (write(-1, phase, strlen(phase)) >= 0)
		abort();
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1000, status;
	pid_t pid;

	/* The heap's own first calls belong to the start, bare, too. */
	free(malloc(100));
	mark("main");
	free(malloc(5000));
	if (argc > 2) {
		mark("exit");
		return 0;
	}
	mark("window");
	for (int i = 0; i < times; i++)
		free(malloc((size_t)i % 3000));
	mark("fork");
	pid = fork();
	if (!pid) {
		mark("child");
		free(malloc(100));
		mark("exec");
		execl(argv[0], argv[0], "0", "again", (char *)NULL);
		_exit(127);
	}
	mark("wait");
	waitpid(pid, &status, 0);
	mark("exit");
	return status != 0;
}
