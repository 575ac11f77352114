/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler WAY N - a signal's handler comes at any moment of a program that allocates, N
 * times, and
 *	fork   forks; the child goes on from where it was interrupted
 *	exit   forks; the child leaves at once, by _exit
 *	jump   leaves by siglongjmp
 *	small  runs on a stack of its own of 4 KiB
 */
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled, is_child, wrong;
static const char *way;
static sigjmp_buf back;

/* Once, at no moment that repeats itself; a timer that goes on by itself would leave no
 * time for anything else where forks are slow. */
static void start_timer(void)
{
	struct itimerval once = { { 0, 0 }, { 0, 20 + handled * 37 % 300 } };

	setitimer(ITIMER_REAL, &once, NULL);
}

static void take(int signal)
{
	int status = 0;
	pid_t pid;

	(void)signal;
	handled++;
	if (!strcmp(way, "jump"))
		siglongjmp(back, 1);
	if (!strcmp(way, "small"))
		return;
	pid = fork();
	if (!pid) {
		is_child = 1;
		if (!strcmp(way, "exit"))
			_exit(0);
		return;
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	wrong += status != 0;
}

static void allocate(void)
{
	static void *kept[64];
	static unsigned i;

	i++;
	free(kept[i % 64]);
	kept[i % 64] = malloc(i % 3000);
}

static void go_on_as_child(void)
{
	for (int i = 0; i < 20000; i++)
		allocate();
	exit(0);
}

static void handle_signal(void)
{
	struct sigaction action = { .sa_handler = take, .sa_flags = SA_RESTART };

	if (!strcmp(way, "small")) {
		stack_t stack = { .ss_sp = malloc(4096), .ss_size = 4096 };

		if (sigaltstack(&stack, NULL))
			puts("no such stack");
		action.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGALRM, &action, NULL);
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 100;

	way = argc > 1 ? argv[1] : "fork";
	mallopt(M_MMAP_THRESHOLD, 100 << 10);
	allocate(); /* malloc is whole before the first signal */
	handle_signal();
	sigsetjmp(back, 1);
	while (handled < times && !is_child) {
		int before = handled;

		start_timer();
		while (handled == before)
			if (strcmp(way, "jump"))
				allocate();
			else /* malloc's lists must be whole after a siglongjmp: large */
				free(calloc(1, 200 << 10));
	}
	if (is_child)
		go_on_as_child();
	printf("%d children ended badly\n", wrong);
	return 0;
}
