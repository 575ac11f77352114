/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notls - children that share their parent's memory and have no thread-local storage, as
 * browsers make them to lock themselves in: each limits itself and leaves, or runs a
 * program.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK 65536

static char tls[2][8192]; /* its descriptor lies in the middle */

static int leaves(void *arg)
{
	(void)arg;
	_exit(7);
}

static int limits(void *arg)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog filter = { 1, all };
	struct rlimit space = { 1u << 30, 1u << 30 };
	int bad = 0;

	(void)arg;
	bad |= setrlimit(RLIMIT_AS, &space) != 0;
	bad |= unshare(CLONE_FS) != 0;
	bad |= unshare(-1) != -1;
	bad |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0;
	bad |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0;
	_exit(bad);
}

static int runs(void *arg)
{
	execve("/bin/sh", arg, NULL);
	_exit(9);
}

static int status_of(int (*fn)(void *), void *arg)
{
	static char stack[STACK] __attribute__((aligned(64)));
	int status = -1;
	pid_t pid =
		clone(fn, stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_SETTLS | SIGCHLD,
		      arg, NULL, tls[1], NULL);

	waitpid(pid, &status, 0);
	return status;
}

int main(void)
{
	char *argv[] = { "sh", "-c", "exit 3", NULL };

	for (int i = 0; i < 3; i++) {
		free(malloc(1000));
		printf("leaves %x, limits %x, runs %x\n", status_of(leaves, NULL),
		       status_of(limits, NULL), status_of(runs, argv));
	}
	return 0;
}
