/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps WAY N [PROGRAM] - what a process has mapped does not grow with what it does N
 * times: "vfork" starts PROGRAM from vfork children, one after the other and from two
 * threads at once, with an environment of 400 rows; "chain" forks a child that forks a
 * child ...
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *rows[512];
static char **program;
static int times;

static int count_maps(void)
{
	char buf[4096];
	int fd = open("/proc/self/maps", O_RDONLY), lines = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += buf[i] == '\n';
	close(fd);
	return lines;
}

static long pages(void)
{
	char buf[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	close(fd);
	return n > 0 ? atol(buf) : -1;
}

/* As vfork's user must: the child calls nothing but exec and _exit. */
static void start(void)
{
	pid_t pid = vfork();
	int status;

	if (!pid) {
		execve(program[0], program, rows);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		printf("status %x\n", (unsigned)status);
}

static void *start_many(void *unused)
{
	for (int i = 0; i < times; i++)
		start();
	return unused;
}

static void start_at_once(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, start_many, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void fill_rows(void)
{
	int n = 0;

	for (char **row = environ; *row && n < 100; row++)
		rows[n++] = *row;
	for (int i = 0; i < 400; i++)
		if (asprintf(&rows[n++], "ROW_%d=x", i) < 0)
			exit(1);
}

static void run_vforks(void)
{
	long before, size;
	int maps;

	fill_rows();
	start_at_once();
	start_many(NULL);
	maps = count_maps();
	before = pages();
	for (int i = 0; i < 20; i++)
		start_at_once();
	for (int i = 0; i < 20; i++)
		start_many(NULL);
	/* Two may be at it at once for the first time. */
	maps = count_maps() - maps;
	size = pages() - before;
	printf("maps %s, pages %s\n", maps <= 2 ? "same" : "more",
	       size <= 8 ? "same" : "more");
	if (maps > 2 || size > 8)
		printf("%d maps, %ld pages\n", maps, size);
}

/* So much that each process has a sample of it, where samples are taken, and with its
 * first one a place for records: it is there before anything is compared. */
static void allocate(void)
{
	void *volatile large = malloc(16 << 20);

	free(large);
	for (int i = 0; i < 300; i++)
		free(malloc((size_t)i + 1));
}

static void __attribute__((noreturn)) fork_on(int depth, int maps, long before)
{
	int status = 0;
	pid_t pid;

	allocate();
	if (depth == 3) {
		maps = count_maps();
		before = pages();
	}
	if (depth < times) {
		pid = fork();
		if (!pid)
			fork_on(depth + 1, maps, before);
		waitpid(pid, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	maps = count_maps() - maps;
	before = pages() - before;
	printf("maps %s, pages %s\n", maps <= 8 ? "same" : "more",
	       before <= 64 ? "same" : "more");
	if (maps > 8 || before > 64)
		printf("%d maps, %ld pages\n", maps, before);
	fflush(stdout);
	_exit(9);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	times = atoi(argv[2]);
	program = argv + 3;
	if (!strcmp(argv[1], "vfork"))
		run_vforks();
	else
		fork_on(0, 0, 0);
	return 0;
}
