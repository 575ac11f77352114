/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids NAME... - sets its user as the words say, after "threads" with three threads that
 * allocate. The C library asks each of its threads to follow: one that cannot answer
 * hangs the process.
 */
#include <grp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int go_on = 1, allowed;

static void *allocate(void *unused)
{
	while (atomic_load(&go_on))
		free(malloc(1000));
	/* A raw call: each thread of the process must have followed. */
	atomic_fetch_add(&allowed, syscall(SYS_geteuid) == 65534);
	return unused;
}

static int step(const char *word)
{
	gid_t groups[] = { 65534, 4 };

	if (!strcmp(word, "setuid"))
		return setuid(65534);
	if (!strcmp(word, "setgid"))
		return setgid(65534);
	if (!strcmp(word, "seteuid"))
		return seteuid(65534);
	if (!strcmp(word, "setegid"))
		return setegid(65534);
	if (!strcmp(word, "setresuid"))
		return setresuid(65534, 65534, 65534);
	if (!strcmp(word, "setreuid"))
		return setreuid(65534, 65534);
	if (!strcmp(word, "initgroups"))
		return initgroups("nobody", 65534);
	if (!strcmp(word, "setgroups"))
		return setgroups(2, groups);
	if (!strcmp(word, "back"))
		return seteuid(0);
	if (!strcmp(word, "fork")) {
		int status;
		pid_t pid = fork();

		if (pid) {
			waitpid(pid, &status, 0);
			printf("child %d\n", status);
			exit(0);
		}
		return 0;
	}
	return -2;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	int n = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "threads")) {
			for (n = 0; n < 3; n++)
				pthread_create(&threads[n], NULL, allocate, NULL);
			continue;
		}
		printf("%s %d", argv[i], step(argv[i]));
		printf(" %d %d %d %d\n", getuid(), geteuid(), getgid(), getegid());
	}
	go_on = 0;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads followed\n", allowed);
	return 0;
}
