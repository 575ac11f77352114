/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols MODE N - calls N times a function that `symbol:` may mark, and prints what
 * came out. The functions are of every kind: local, exported, in a library.
 */
#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* noipa: called by its own name, and with the common calling convention. */
#define FUNCTION __attribute__((noipa))

static FUNCTION long local_work(long x)
{
	return x * 3 + (x >> 1);
}

FUNCTION long exported_work(long x)
{
	errno = 3;
	return x * 5 + (x >> 2);
}

static FUNCTION double variadic_work(int n, ...)
{
	double sum = 0;
	va_list args;

	va_start(args, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(args, double);
	va_end(args);
	return sum;
}

/* A loop back to the very first instruction. */
long looping_work(long x);
__asm__(".text\n.p2align 4\n.type looping_work, @function\nlooping_work:\n"
	"lea -1(%rdi), %rdi\ntest %rdi, %rdi\njg looping_work\nmov $7, %eax\nret\n"
	".size looping_work, . - looping_work\n");

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void cleanup(void *arg)
{
	++*(long *)arg;
}

/* Leaves by way of the unwinder, through the marked function. */
static FUNCTION void leaving_work(long *x)
{
	pthread_cleanup_push(cleanup, x);
	pthread_exit(x);
	pthread_cleanup_pop(0);
}

static void *leave(void *arg)
{
	leaving_work(arg);
	return NULL;
}

static long unwind(void)
{
	long cleaned = 0;
	pthread_t t;

	pthread_create(&t, NULL, leave, &cleaned);
	pthread_join(t, NULL);
	return cleaned;
}

static long once(const char *mode, long i)
{
	int list[] = { 3, 1, (int)i };
	size_t n = 3;

	if (!strcmp(mode, "local"))
		return local_work(i);
	if (!strcmp(mode, "exported"))
		return exported_work(i) + errno;
	if (!strcmp(mode, "variadic"))
		return (long)variadic_work(9, 1., 2., 3., 4., 5., 6., 7., 8., (double)i);
	if (!strcmp(mode, "looping"))
		return looping_work(i);
	if (!strcmp(mode, "plt"))
		return (int *)lfind(&list[1], list, &n, sizeof(int), compare) - list;
	if (!strcmp(mode, "internal"))
		return qsort(list, 3, sizeof(int), compare), list[0];
	if (!strcmp(mode, "unwind"))
		return unwind();
	if (!strcmp(mode, "ifunc"))
		return (long)wcsnlen(L"abc", (size_t)i);
	return -1;
}

int main(int argc, char **argv)
{
	long sum = 0, n = argc > 2 ? atol(argv[2]) : 3;

	for (long i = 1; i <= n; i++)
		sum += once(argc > 1 ? argv[1] : "local", i);
	printf("%ld\n", sum);
	return 0;
}
