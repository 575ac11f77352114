/* SPDX-License-Identifier: Apache-2.0 */
/* A debugger in small: its child stops at exec and at each signal, and no other child is
 * there. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int status, stops = 0;
	pid_t pid, got;

	for (int i = 0; i < 100000; i++)
		free(malloc((size_t)i % 3000));
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl("/bin/sh", "sh", "-c", "kill -USR1 $$; kill -USR2 $$; exit 8",
		      (char *)NULL);
		_exit(127);
	}
	while ((got = waitpid(-1, &status, __WALL)) > 0) {
		if (got != pid)
			printf("a child that is not ours: %x\n", (unsigned)status);
		if (WIFSTOPPED(status)) {
			stops++;
			ptrace(PTRACE_CONT, got, NULL, NULL);
		} else {
			printf("end %x\n", (unsigned)status);
		}
	}
	printf("%d stops, errno %d\n", stops, errno);
	return 0;
}
