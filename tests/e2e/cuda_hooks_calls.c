/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls every function of every hook table with numbers in all registers and on the
 * stack, and prints what came back: the same with and without us. Not position
 * independent, so that addresses are the same, too.
 *
 *   calls           all functions, twice: failing, then succeeding
 *   calls thread    the same from eight threads at once; prints how many differed
 *   calls signal    the same, and a signal's handler makes such calls, too
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

struct two {
	uint64_t first, second;
};

typedef struct two (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       double, double, double, double, double, double, double,
			       double, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       uint64_t, uint64_t, uint64_t);

void mock_succeed(int yes);

#define HOOK(group, symbol, ...) extern void symbol(void);
#include "agent/cuda/cudart.def"
#include "agent/cuda/driver.def"
#include "agent/cuda/nccl.def"
#undef HOOK

enum { P_NONE, P_REGISTER, P_SAME, P_NAMED, P_ENTRY, P_CONFIG, P_COMM };
#define P_CALL          P_NONE
#define P_SYNC          P_NONE
#define P_INIT          P_NONE
#define P_LAUNCH        P_NONE
#define P_LAUNCH_DRIVER P_NONE
#define P_LAUNCH_CONFIG P_CONFIG
#define P_GRAPH         P_NONE
#define P_CAPTURE       P_NONE
#define P_RESET         P_NONE
#define P_COLLECTIVE    P_NONE
#define P_COMM_END      P_NONE

static const struct {
	const char *name;
	function call;
	int pointers;
} rows[] = {
#define HOOK(group, symbol, kind, ...) { #symbol, (function)symbol, P_##kind },
#include "agent/cuda/cudart.def"
#include "agent/cuda/driver.def"
#include "agent/cuda/nccl.def"
#undef HOOK
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* What functions that look at memory are given. */
static uint64_t handle = 77, config[7] = { 3, 4, 5, 6, 7, 8, 9 };
static char text[] = "_Z6kernelPf";

struct two call(size_t i); /* exported: seen in stacks */
void all(void);

struct two call(size_t i)
{
	uint64_t a[4] = { 100 + i, 200 + i, 300 + i, 400 + i };

	if (rows[i].pointers == P_SAME || rows[i].pointers == P_NAMED ||
	    rows[i].pointers == P_COMM)
		a[0] = (uintptr_t)&handle;
	if (rows[i].pointers == P_CONFIG)
		a[0] = (uintptr_t)config;
	if (rows[i].pointers == P_ENTRY) {
		a[0] = (uintptr_t) "cuMemAlloc";
		a[1] = (uintptr_t)&handle;
	}
	if (rows[i].pointers == P_NAMED)
		a[2] = (uintptr_t)text;
	if (rows[i].pointers == P_REGISTER)
		a[3] = (uintptr_t)text;
	errno = 11;
	return rows[i].call(a[0], a[1], a[2], a[3], 500 + i, 600 + i, 1.5, 2.5, 3.5, 4.5,
			    5.5, 6.5, 7.5, 8.5, 700 + i, 800 + i, 900 + i, 1000 + i,
			    1100 + i, 1200 + i, 1300 + i, 1400 + i, 15, 16, 17, 18, 19,
			    20, 21, 22, 23, 24, 25, 26);
}

void all(void)
{
	for (int yes = 0; yes < 2; yes++) {
		mock_succeed(yes);
		for (size_t i = 0; i < ROWS; i++) {
			struct two r = call(i);

			printf("%s %" PRIx64 " %" PRIx64 " %d\n", rows[i].name, r.first,
			       r.second, errno);
		}
	}
	printf("%" PRIu64 " %s\n", handle, text);
}

static struct two first[ROWS];

static void *one(void *arg)
{
	uintptr_t differ = 0;

	(void)arg;
	for (int round = 0; round < 200; round++)
		for (size_t i = 0; i < ROWS; i++) {
			struct two r = call(i);

			differ += memcmp(&r, &first[i], sizeof(r)) != 0;
		}
	return (void *)differ;
}

static uintptr_t in_handler;

static void handler(int signal)
{
	int saved = errno;
	size_t i = (size_t)(in_handler++ % ROWS);
	struct two r = call(i);

	(void)signal;
	if (memcmp(&r, &first[i], sizeof(r)))
		_exit(5);
	errno = saved;
}

static void signals(void)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 200 }, { 0, 200 } };
	uintptr_t differ;

	for (size_t i = 0; i < ROWS; i++)
		first[i] = call(i);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	differ = (uintptr_t)one(NULL);
	printf("%lu differ, %s signals\n", (unsigned long)differ,
	       in_handler ? "some" : "no");
}

static void threads(void)
{
	pthread_t t[8];
	uintptr_t differ = 0;
	void *own;

	for (size_t i = 0; i < ROWS; i++)
		first[i] = call(i);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, one, NULL);
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &own);
		differ += (uintptr_t)own;
	}
	printf("%lu differ\n", (unsigned long)differ);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "thread"))
		threads();
	else if (argc > 1 && !strcmp(argv[1], "signal"))
		signals();
	else
		all();
	return 0;
}
