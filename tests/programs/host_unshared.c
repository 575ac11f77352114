/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of unshare, in a child of its own: some are refused where there is a second
 * thread. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	int flag;
} kinds[] = {
	{ "fs", CLONE_FS },
	{ "files", CLONE_FILES },
	{ "ns", CLONE_NEWNS },
	{ "uts", CLONE_NEWUTS },
	{ "ipc", CLONE_NEWIPC },
	{ "user", CLONE_NEWUSER },
	{ "pid", CLONE_NEWPID },
	{ "net", CLONE_NEWNET },
	{ "cgroup", CLONE_NEWCGROUP },
	{ "sysvsem", CLONE_SYSVSEM },
	{ "thread", CLONE_THREAD },
	{ "vm", CLONE_SIGHAND | CLONE_VM },
};

static void allocate(int times)
{
	for (int i = 0; i < times; i++)
		free(malloc((size_t)i % 3000));
}

static int enter(const char *name)
{
	char path[64];
	int fd, result;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	result = fd < 0 ? -1 : setns(fd, 0);
	printf("setns %s: %d %d\n", name, result, result ? errno : 0);
	return result;
}

int main(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid) {
			allocate(100000);
			status = unshare(kinds[i].flag);
			printf("unshare %s: %d %d\n", kinds[i].name, status,
			       status ? errno : 0);
			allocate(100000);
			fflush(stdout);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (status)
			printf("%s: child %x\n", kinds[i].name, (unsigned)status);
	}
	allocate(100000);
	enter("net");
	enter("uts");
	enter("ipc");
	enter("mnt");
	return 0;
}
