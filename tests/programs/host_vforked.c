/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vforked [none] - a vfork child limits itself in each way that is seen by a preloaded
 * library, and then runs a program. Its parent, whose memory it has, goes on as before.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int results[8];

static void allocate(int times)
{
	for (int i = 0; i < times; i++)
		free(malloc((size_t)i % 3000));
}

static void limit(int fd)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog filter = { 1, all };
	struct rlimit space = { 1u << 30, 1u << 30 };

	results[0] = setrlimit(RLIMIT_AS, &space);
	results[1] = prlimit(0, RLIMIT_DATA, &space, NULL);
	results[2] = unshare(CLONE_FS);
	results[3] = unshare(CLONE_FILES);
	results[4] = setns(fd, 0) ? errno : 0;
	results[5] = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	results[6] = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	results[7] = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

static void run_child(int fd, int limits)
{
	char *const argv[] = { "true", NULL };
	pid_t pid = vfork();
	int status;

	if (!pid) {
		if (limits)
			limit(fd);
		execve("/bin/true", argv, environ);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (status)
		printf("child %x\n", (unsigned)status);
}

int main(int argc, char **argv)
{
	int limits = argc < 2 || strcmp(argv[1], "none");
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 10; i++) {
		allocate(10000);
		run_child(fd, limits);
	}
	allocate(10000);
	for (int i = 0; i < 8; i++)
		printf("%d ", results[i]);
	puts("");
	return 0;
}
