/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps N MS [MIB [EACH]] - N steps of MS milliseconds, each with EACH allocations
 * (2,000) from stacks of its own; MIB of memory are touched, and kept. Prints what it has
 * summed up.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *(*volatile take)(size_t) = malloc;

/* Each path through the two is a stack that nobody else has. */
static unsigned long left(unsigned path, unsigned depth, size_t size);
static unsigned long right(unsigned path, unsigned depth, size_t size);

static unsigned long turn(unsigned path, unsigned depth, size_t size)
{
	unsigned char *block;
	unsigned long sum;

	if (depth)
		return (path & 1 ? right : left)(path >> 1, depth - 1, size);
	block = take(size);
	memset(block, (int)size, size);
	sum = block[size / 2];
	free(block);
	return sum;
}

static __attribute__((noinline)) unsigned long left(unsigned path, unsigned depth,
						    size_t size)
{
	return turn(path, depth, size) + 1;
}

static __attribute__((noinline)) unsigned long right(unsigned path, unsigned depth,
						     size_t size)
{
	return turn(path, depth, size) + 2;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 10, ms = argc > 2 ? atoi(argv[2]) : 10;
	size_t keep = argc > 3 ? (size_t)atol(argv[3]) << 20 : 0;
	unsigned each = argc > 4 ? (unsigned)atoi(argv[4]) : 2000;
	void (*step)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "proflaunch_step");
	char *kept = keep ? malloc(keep) : NULL;
	unsigned long sum = 0;
	struct timespec next;

	if (kept)
		memset(kept, 1, keep);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int i = 0; i < steps; i++) {
		for (unsigned k = 0; k < each; k++)
			sum += turn((unsigned)i * 7919 + k * 31, 16, k % 500 + 1);
		next.tv_nsec += ms * 1000000l;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
			;
		if (step)
			step();
	}
	printf("%lu %d\n", sum, kept ? kept[keep / 2] : 0);
	free(kept);
	return 0;
}
