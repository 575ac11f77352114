/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm ROUNDS PAIRS - forks while four threads are in malloc, ROUNDS times.
 *
 * Each round every thread makes and frees PAIRS blocks; the fork happens meanwhile, and
 * the child uses the heap, too, then ends without exit handlers.  Prints the blocks that
 * the threads have made, and how many children went wrong (a child that hangs ends by
 * alarm).  The program itself keeps nothing.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, DEPTH = 12, CHILD_S = 20 };

static atomic_ulong allowed, made[THREADS];
static atomic_bool over;

void *storm_deep(size_t size, int depth);
void storm_pair(unsigned long i);

/* A stack of some depth, of which each frame may be the one that is interrupted. */
__attribute__((noinline)) void *storm_deep(size_t size, int depth)
{
	void *volatile block = depth ? storm_deep(size, depth - 1) : malloc(size);

	return block;
}

__attribute__((noinline)) void storm_pair(unsigned long i)
{
	char *block = storm_deep(16 + i % 2000, DEPTH);

	if (!block)
		abort();
	memset(block, 1, 16);
	if (i % 3 == 0)
		block = realloc(block, 3000);
	free(block);
}

static void *work(void *number)
{
	atomic_ulong *mine = &made[(size_t)number];

	while (!atomic_load(&over)) {
		while (atomic_load(mine) < atomic_load(&allowed)) {
			storm_pair(atomic_load(mine));
			atomic_fetch_add(mine, 1);
		}
		usleep(20);
	}
	return NULL;
}

static void child(void)
{
	alarm(CHILD_S);
	for (unsigned long i = 0; i < 50; i++)
		storm_pair(i);
	_exit(7);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100, wrong = 0;
	unsigned long pairs = argc > 2 ? strtoul(argv[2], NULL, 10) : 50, sum = 0;
	pthread_t threads[THREADS];
	char line[128];

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (unsigned long i = 0; i < rounds; i++) {
		int status = 0;

		atomic_fetch_add(&allowed, pairs);
		if (i % 2)
			usleep(30);
		pid_t pid = fork();

		if (!pid)
			child();
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 7)
			wrong++;
	}
	for (size_t i = 0; i < THREADS; i++)
		while (atomic_load(&made[i]) < rounds * pairs)
			usleep(100);
	atomic_store(&over, true);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += atomic_load(&made[i]);
	}
	int length = snprintf(line, sizeof(line), "made %lu wrong %lu\n", sum, wrong);

	return write(1, line, (size_t)length) != length || wrong;
}
