/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program's start costs: /bin/true made and waited for, by turns as it is and with
 * each of the libraries preloaded that are named. Run under the launcher, so that the
 * environment is the one that programs have there.
 *
 * start ROUNDS LIBRARY...      prints the median of each in ns, bare first
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAYS 8
#define MOST 10000

extern char **environ;
static double took[WAYS][MOST];
static char *envs[WAYS][1024];

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Bare: nothing of the launcher's. Else all of it, with that library in the agent's
 * place. */
static void fill_env(char **env, const char *library)
{
	unsigned n = 0;

	for (char **e = environ; *e && n < 1000; e++) {
		if (!strncmp(*e, "LD_PRELOAD=", 11))
			continue;
		if (!library && (!strncmp(*e, "PROF_", 5) || !strncmp(*e, "CUDA_INJ", 8)))
			continue;
		env[n++] = *e;
	}
	if (library && asprintf(&env[n], "LD_PRELOAD=%s", library) < 0)
		exit(1);
}

static double once(char **env)
{
	char *argv[] = { "/bin/true", NULL };
	double begin = now_ns();
	pid_t pid = vfork();
	int status;

	if (!pid) {
		execve(argv[0], argv, env);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		exit(1);
	return now_ns() - begin;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int rounds = atoi(argv[1]), ways = argc - 1;

	if (argc < 2 || rounds < 1 || rounds > MOST || ways > WAYS)
		return 2;
	for (int w = 0; w < ways; w++)
		fill_env(envs[w], w ? argv[w + 1] : NULL);
	for (int i = 0; i < rounds; i++)
		for (int w = 0; w < ways; w++)
			took[w][i] = once(envs[w]);
	for (int w = 0; w < ways; w++) {
		qsort(took[w], (size_t)rounds, sizeof(took[w][0]), by_size);
		printf("%.0f\n", took[w][rounds / 2]);
	}
	return 0;
}
