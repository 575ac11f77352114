/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_pair PAIRS [DEPTH [THREADS [BYTES [WAYS]]]] - what malloc and free cost together.
 *
 * Each thread makes PAIRS blocks, each under DEPTH frames of this program, and frees them
 * at once.  With WAYS it goes down the inner half of them anew for each block, on one of
 * 2^WAYS ways, so that no stack is the one before.  Prints one line of JSON: ns per pair
 * of the threads' own processor time, and of the wall's; the slowest thread counts.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 64 };

static size_t pairs, bytes = 64;
static int depth, ways;
static double cpu[MOST], wall[MOST];
static atomic_int ready;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int left(int frames, size_t way), right(int frames, size_t way);

static inline int one(int frames, size_t way)
{
	if (frames > 0)
		return (way & 1 ? left : right)(frames - 1, way >> 1) + 1;

	void *volatile block = malloc(bytes);

	free(block);
	return 0;
}

__attribute__((noinline)) static int left(int frames, size_t way)
{
	return one(frames, way);
}

__attribute__((noinline)) static int right(int frames, size_t way)
{
	return one(frames, way) + 1;
}

__attribute__((noinline)) static void loop_anew(size_t number)
{
	for (size_t i = 0; i < number; i++)
		one(depth / 2, i & (((size_t)1 << ways) - 1));
}

__attribute__((noinline)) static void loop(size_t number)
{
	for (size_t i = 0; i < number; i++) {
		void *volatile block = malloc(bytes);

		free(block);
	}
}

/* The loop lies at the bottom, so that the frames above cost nothing by themselves. */
__attribute__((noinline)) static int down(int frames, size_t number)
{
	if (frames > 0)
		return down(frames - 1, number) + 1;
	if (ways)
		loop_anew(number);
	else
		loop(number);
	return 0;
}

static void *work(void *number)
{
	size_t me = (size_t)number;

	int outer = ways ? depth - depth / 2 : depth;

	down(outer, 1000);
	atomic_fetch_sub(&ready, 1);
	while (atomic_load(&ready) > 0)
		; /* all begin together */
	double from = now(CLOCK_THREAD_CPUTIME_ID), begin = now(CLOCK_MONOTONIC);

	down(outer, pairs);
	cpu[me] = (now(CLOCK_THREAD_CPUTIME_ID) - from) / (double)pairs;
	wall[me] = (now(CLOCK_MONOTONIC) - begin) / (double)pairs;
	return NULL;
}

int main(int argc, char **argv)
{
	size_t threads = argc > 3 ? strtoul(argv[3], NULL, 10) : 1, most_cpu = 0,
	       most = 0;
	pthread_t others[MOST];

	pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	depth = argc > 2 ? atoi(argv[2]) : 0;
	bytes = argc > 4 ? strtoul(argv[4], NULL, 10) : bytes;
	ways = argc > 5 ? atoi(argv[5]) : 0;
	if (!pairs || !threads || threads > MOST || ways < 0 || ways > 30)
		return 2;
	atomic_store(&ready, (int)threads);
	for (size_t i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, work, (void *)i);
	work((void *)0);
	for (size_t i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	for (size_t i = 0; i < threads; i++) {
		most_cpu = cpu[i] > cpu[most_cpu] ? i : most_cpu;
		most = wall[i] > wall[most] ? i : most;
	}
	printf("{\"cpu\": %.2f, \"wall\": %.2f}\n", cpu[most_cpu], wall[most]);
	return 0;
}
