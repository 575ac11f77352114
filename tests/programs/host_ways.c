/* SPDX-License-Identifier: Apache-2.0 */
/* ways WAY - each way in which a process ends. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say_atexit(void)
{
	puts("atexit");
}

static void say_quick(void)
{
	puts("at_quick_exit");
	fflush(stdout);
}

static void *leave(void *way)
{
	if (!strcmp(way, "thread"))
		exit(21);
	for (;;)
		free(malloc(1000));
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	pthread_t thread;

	atexit(say_atexit);
	at_quick_exit(say_quick);
	free(malloc(100000));
	puts("main");
	fflush(stdout);
	if (!strcmp(way, "_exit"))
		_exit(22);
	if (!strcmp(way, "quick"))
		quick_exit(23);
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "raw"))
		syscall(SYS_exit_group, 24);
	if (!strcmp(way, "segv"))
		raise(SIGSEGV);
	if (!strcmp(way, "kill"))
		raise(SIGKILL);
	if (!strcmp(way, "alarm")) {
		alarm(1);
		pause();
	}
	pthread_create(&thread, NULL, leave, (void *)way);
	if (!strcmp(way, "thread"))
		pause();
	usleep(50000);
	return 25;
}
