/* SPDX-License-Identifier: Apache-2.0 */
/* What a program sees of itself: its descriptors, the next free one, its tasks. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_descriptors(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		char path[64], to[256];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		if (n < 0)
			continue;
		to[n] = 0;
		/* A pipe's number changes from run to run. */
		to[strcspn(to, "[")] = 0;
		printf(" %d=%s", fd, to);
	}
}

/* Without those that are named as ours, if @others. */
static int count_tasks(int others)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		char path[300], name[32] = "";
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file))
			n += !(others && !strncmp(name, "proflaunch", 10));
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
	return n;
}

static int heavy;

static void look(const char *when)
{
	int next = dup(0);

	if (next < 0)
		next = open("/dev/null", O_RDONLY);
	printf("%s:", when);
	print_descriptors();
	printf(" next=%d tasks=%d\n", next, count_tasks(heavy));
	fflush(stdout);
	close(next);
}

static void look_at_exit(void)
{
	look("atexit");
}

static void *look_in_thread(void *name)
{
	look(name);
	return NULL;
}

static void allocate(void)
{
	for (int i = 0; i < 300000; i++)
		free(malloc((size_t)i % 2000 + 1));
}

static void look_in_child(const char *self)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		look("fork child");
		execl(self, self, "light", "child", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int in_child = argc > 2 && !strcmp(argv[2], "child");

	heavy = argc > 1 && !strcmp(argv[1], "heavy");
	look(in_child ? "exec" : "main");
	if (in_child)
		return 7;
	atexit(look_at_exit);
	pthread_create(&thread, NULL, look_in_thread, "thread");
	pthread_join(thread, NULL);
	if (heavy) {
		allocate();
		look("allocated");
	}
	look_in_child(argv[0]);
	look("end");
	return 3;
}
