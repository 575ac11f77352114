/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp ACTION CALLS - allows itself what malloc and stdio need and no more, then goes
 * on. ACTION: strict, kill, eperm.  "threads" after it: with a thread that was there
 * before.  "lock": it takes itself memory in between.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int allowed[] = {
	SYS_read,     SYS_write,     SYS_close,      SYS_fstat,        SYS_newfstatat,
	SYS_lseek,    SYS_mmap,      SYS_munmap,     SYS_mremap,       SYS_mprotect,
	SYS_brk,      SYS_exit,      SYS_exit_group, SYS_rt_sigreturn, SYS_futex,
	SYS_mlockall, SYS_prlimit64,
};

#define ALLOWED (sizeof(allowed) / sizeof(*allowed))

static int set_filter(unsigned action)
{
	struct sock_filter code[ALLOWED + 3];
	struct sock_fprog program = { ALLOWED + 3, code };
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ALLOWED; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned)allowed[i],
							 (unsigned char)(ALLOWED - i), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int strict(void)
{
	char c = 'x';

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 2;
	for (int i = 0; i < 100; i++)
		free(malloc(100));
	if (read(0, &c, 1) < 0 || write(1, "still here\n", 11) != 11)
		c = 'y';
	syscall(SYS_exit, 5);
	return c;
}

static void *wait_for_end(void *unused)
{
	char c;

	while (read(*(int *)unused, &c, 1) > 0)
		;
	return NULL;
}

static void allocate(void)
{
	static void *kept[1000];
	size_t sum = 0;

	for (int i = 0; i < 200000; i++) {
		free(kept[i % 1000]);
		kept[i % 1000] = malloc((size_t)i % 5000);
		sum += kept[i % 1000] != NULL;
	}
	free(malloc(8 << 20));
	printf("%zu allocations\n", sum);
}

static int take_memory(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY },
		      some = { 1ul << 32, 1ul << 32 };

	return mlockall(MCL_CURRENT) || getrlimit(RLIMIT_AS, &all) ||
	       setrlimit(RLIMIT_AS, &some) || mlockall(MCL_CURRENT);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	pthread_t thread;
	int ends[2];

	puts("before");
	fflush(stdout);
	if (!strcmp(way, "strict"))
		return strict();
	if (argc > 2 && strcmp(argv[2], "lock") && !pipe(ends))
		pthread_create(&thread, NULL, wait_for_end, ends);
	if (argc > 3)
		allocate();
	if (set_filter(!strcmp(way, "kill") ? SECCOMP_RET_KILL_PROCESS
					    : SECCOMP_RET_ERRNO | EPERM))
		return 2;
	if (argc > 2 && !strcmp(argv[2], "lock") && take_memory())
		return 3;
	allocate();
	puts("after");
	return 6;
}
