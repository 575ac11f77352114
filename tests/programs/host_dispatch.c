/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch - hands system calls to a handler of its own, as emulators do, but for those
 * that the C library makes (syscall user dispatch): no other code may make one. Then all.
 */
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SET_DISPATCH 59

extern char **environ;
static volatile char blocks;

static void tell(int sig, siginfo_t *info, void *context)
{
	char text[80];

	(void)sig;
	(void)context;
	blocks = 0;
	_exit(write(1, text,
		    (size_t)sprintf(text, "call %d is not the C library's\n",
				    info->si_syscall)) < 0);
}

struct code {
	unsigned long begin, size;
};

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct code *libc = arg;

	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    info->dlpi_phdr[i].p_flags & PF_X)
			*libc = (struct code){ info->dlpi_addr +
						       info->dlpi_phdr[i].p_vaddr,
					       info->dlpi_phdr[i].p_memsz };
	return 1;
}

static void allocate(void)
{
	for (int i = 0; i < 200000; i++)
		free(memset(malloc((size_t)i % 3000 + 1), 1, 1));
	free(malloc(3 << 20));
}

static void have_children(void)
{
	char *argv[] = { "true", NULL };
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		allocate();
		_exit(3);
	}
	waitpid(pid, &status, 0);
	printf("fork %x\n", (unsigned)status);
	printf("spawn %d", posix_spawnp(&pid, "true", NULL, NULL, argv, environ));
	waitpid(pid, &status, 0);
	printf(" %x\n", (unsigned)status);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = tell, .sa_flags = SA_SIGINFO };
	struct rlimit limit;
	struct code libc = { 0, 0 };

	dl_iterate_phdr(find_libc, &libc);
	sigaction(SIGSYS, &action, NULL);
	if (prctl(SET_DISPATCH, 1, libc.begin, libc.size, &blocks)) {
		puts("this kernel has no dispatch"); /* before Linux 5.11 */
		return 0;
	}
	blocks = 1;
	allocate();
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = 64ul << 30;
	printf("setrlimit %d\n", setrlimit(RLIMIT_AS, &limit));
	printf("mlockall %d\n", mlockall(0));
	printf("prctl %d\n", prctl(PR_SET_NAME, "other"));
	printf("syscall %d\n", syscall(SYS_getpid) == getpid());
	have_children();
	blocks = 0;
	printf("off %d\n", prctl(SET_DISPATCH, 0, 0, 0, 0));
	have_children();
	printf("on %d\n", prctl(SET_DISPATCH, 1, 0, 0, &blocks));
	blocks = 1; /* nobody may: malloc has all that it needs */
	for (int i = 0; i < 150000; i++)
		free(memset(malloc((size_t)i % 300 + 1), 1, 1));
	blocks = 0;
	puts("none was made");
	return 0;
}
