/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nothread - no thread can be made here: clone and clone3 are answered EAGAIN, by a
 * filter that nobody saw coming. Nothing is left behind by who tries, again and again.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static long kernel(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("xor %%r10, %%r10\n\txor %%r8, %%r8\n\tsyscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r8", "r10", "r11", "memory");
	return result;
}

static void forbid_threads(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 435 /* clone3 */, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(rows) / sizeof(*rows), rows };

	if (kernel(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) ||
	    kernel(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter))
		puts("no filter");
}

static long pages(void)
{
	char buf[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	close(fd);
	return n > 0 ? atol(buf) : -1;
}

static void *nothing(void *unused)
{
	return unused;
}

int main(void)
{
	pthread_t thread;
	long before = 0;

	forbid_threads();
	for (int round = 0; round < 30; round++) {
		for (int i = 0; i < 3000; i++)
			free(malloc((size_t)i));
		usleep(120000);
		if (round == 14)
			before = pages();
	}
	printf("pages %s\n", pages() - before < 64 ? "same" : "more");
	printf("%s\n", strerror(pthread_create(&thread, NULL, nothing, NULL)));
	return 0;
}
