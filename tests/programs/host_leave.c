/* SPDX-License-Identifier: Apache-2.0 */
/* leave WAY - the main thread, or the one that forked, ends before the process does. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

static void *go_on(void *seconds)
{
	for (int i = 0; i < 40; i++) {
		free(malloc(10000));
		nap(5);
	}
	puts("the other thread ends");
	fflush(stdout);
	if (seconds)
		nap(60000);
	return NULL;
}

static void *fork_and_leave(void *unused)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		puts("the child's only thread ends");
		fflush(stdout);
		pthread_exit(NULL);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", status);
	return unused;
}

static int term_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		pthread_t thread;

		pthread_create(&thread, NULL, go_on, "for ever");
		pthread_exit(NULL);
	}
	nap(500);
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	printf("child: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	pthread_t thread;

	if (!strcmp(way, "term"))
		return term_child();
	if (!strcmp(way, "fork")) {
		pthread_create(&thread, NULL, fork_and_leave, NULL);
		pthread_join(thread, NULL);
		return 4;
	}
	free(malloc(100));
	if (!strcmp(way, "other"))
		pthread_create(&thread, NULL, go_on, NULL);
	if (!strcmp(way, "heavy"))
		for (int i = 0; i < 200000; i++)
			free(malloc(1000));
	pthread_exit(NULL);
}
