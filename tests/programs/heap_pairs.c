/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of malloc and free: heap_pairs [pairs [threads [size]]]. Prints ns per pair, the
 * least of nine rounds. With HEAP_DIE=1 it ends by a kill, so that its spool stays.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST   64
#define ROUNDS 9

static long pairs = 1000000;
static size_t size = 64;

static void *work(void *arg)
{
	(void)arg;
	for (long i = 0; i < pairs; i++) {
		void *volatile p = malloc(size);

		free(p);
	}
	return NULL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	double best = 1e300;
	pthread_t id[MOST];

	if (argc > 1)
		pairs = atol(argv[1]);
	if (argc > 3)
		size = (size_t)atol(argv[3]);
	for (int round = 0; round < ROUNDS; round++) {
		double begin = now();

		for (int i = 1; i < threads && i < MOST; i++)
			pthread_create(&id[i], NULL, work, NULL);
		work(NULL);
		for (int i = 1; i < threads && i < MOST; i++)
			pthread_join(id[i], NULL);
		if (now() - begin < best)
			best = now() - begin;
	}
	printf("%.2f\n", best / (double)pairs);
	fflush(stdout);
	if (getenv("HEAP_DIE"))
		kill(getpid(), SIGKILL);
	return 0;
}
