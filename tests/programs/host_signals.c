/* SPDX-License-Identifier: Apache-2.0 */
/* signals WAY - masks, waiting, timers, descriptors of signals: the program's, all of
 * them. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t seen, in_main = 1;
static pthread_t main_thread;

static void count(int signal)
{
	(void)signal;
	seen++;
	in_main &= pthread_equal(pthread_self(), main_thread);
}

static void work(int times)
{
	for (int i = 0; i < times; i++)
		free(malloc((size_t)i % 3000));
}

/* All threads of the program block it: it must wait for the one that asks. */
static int wait_for_usr1(void)
{
	sigset_t set;
	int got = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 20; i++) {
		kill(getpid(), i % 2 ? SIGUSR1 : SIGRTMIN + 1);
		work(20000);
		sigwait(&set, &got);
		if (got != (i % 2 ? SIGUSR1 : SIGRTMIN + 1))
			return 1;
	}
	puts("20 signals waited for");
	return 0;
}

static int profile_timer(int which, int signal)
{
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } },
			 none = { { 0, 0 }, { 0, 0 } };

	sigaction(signal, &(struct sigaction){ .sa_handler = count }, NULL);
	setitimer(which, &every, NULL);
	while (seen < 50)
		work(1000);
	setitimer(which, &none, NULL);
	printf("50 ticks, all in the main thread: %d\n", in_main);
	return 0;
}

static int read_signalfd(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int fd, right = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	printf("signalfd %d\n", fd);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(i);
		work(5000);
		if (read(fd, &info, sizeof(info)) == sizeof(info))
			right += info.ssi_signo == SIGCHLD &&
				 info.ssi_pid == (unsigned)pid;
		waitpid(pid, NULL, 0);
	}
	printf("%d children heard of\n", right);
	return 0;
}

/* Handlers on a stack of their own that allocate as deep as this: what runs there is
 * small. */
static int small_handler_stack(void)
{
	static char area[8192];
	stack_t stack = { .ss_sp = area, .ss_size = sizeof(area) };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2,
		  &(struct sigaction){ .sa_handler = count, .sa_flags = SA_ONSTACK },
		  NULL);
	for (int i = 0; i < 1000; i++) {
		raise(SIGUSR2);
		work(20);
	}
	printf("%d handled\n", (int)seen);
	return 0;
}

static int print_masks(void)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "re");

	work(100000);
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "Sig", 3) || !strncmp(line, "Shd", 3))
			if (strncmp(line, "SigQ", 4))
				fputs(line, stdout);
	for (int i = 1; i <= SIGRTMAX; i++) {
		struct sigaction action;

		if (!sigaction(i, NULL, &action) && action.sa_handler != SIG_DFL)
			printf("signal %d is not default\n", i);
	}
	return file ? fclose(file) : 1;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	main_thread = pthread_self();
	if (!strcmp(way, "sigwait"))
		return wait_for_usr1();
	if (!strcmp(way, "prof"))
		return profile_timer(ITIMER_PROF, SIGPROF);
	if (!strcmp(way, "real"))
		return profile_timer(ITIMER_REAL, SIGALRM);
	if (!strcmp(way, "signalfd"))
		return read_signalfd();
	if (!strcmp(way, "altstack"))
		return small_handler_stack();
	return print_masks();
}
