/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_launch ROUNDS LAUNCHES [leave] - nanoseconds of a kernel launch, in and out of
 * windows.
 *
 * Linked against the fake GPU's runtime. A round is a step: with the schedule
 * wait=3,active=1 every fourth one lies in a window. The CPU nanoseconds per launch
 * of each round and the CPU time of every other thread, by its name, go to standard
 * output as JSON. leave: the process kills itself, so that the spool stays as it is.
 */
#include "agent/proflaunch.h"
#include "tests/fake/cudart.h"

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

FAKE_KERNEL(kernel, "_Z6kernelPfPKfi")

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* whatever else runs here */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void step(void)
{
	if (proflaunch_step)
		proflaunch_step();
}

static double round_ns(int launches)
{
	const dim3 grid = { 64, 1, 1 }, block = { 128, 1, 1 };
	void *args[1] = { NULL };
	uint64_t begin = now();

	for (int n = 0; n < launches; n++)
		cudaLaunchKernel((const void *)kernel, grid, block, args, 0, NULL);
	return (double)(now() - begin) / launches;
}

/* "name": ns on a processor, of each thread but this one. */
static void threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[300], name[32] = "";
		unsigned long ns = 0;
		FILE *file;

		if (atoi(entry->d_name) <= 0 ||
		    atoi(entry->d_name) == (int)syscall(SYS_gettid))
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (file && fscanf(file, "%31[^\n]", name) != 1)
			*name = 0;
		if (file)
			fclose(file);
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat",
			 entry->d_name);
		file = fopen(path, "r");
		if (file && fscanf(file, "%lu", &ns) != 1)
			ns = 0;
		if (file)
			fclose(file);
		printf(", [\"%s\", %lu]", name, ns);
	}
	if (dir)
		closedir(dir);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4;
	int launches = argc > 2 ? atoi(argv[2]) : 20000;
	double *rounds = calloc((size_t)count + 1, sizeof(*rounds));

	cudaDeviceSynchronize();
	round_ns(1000);
	cudaDeviceSynchronize();
	for (int r = 0; r < count; r++) {
		usleep(100000); /* a window that is near is prepared by others */
		rounds[r] = round_ns(launches);
		cudaDeviceSynchronize();
		usleep(100000);
		step();
	}
	usleep(1500000);
	printf("{\"rounds\": [");
	for (int r = 0; r < count; r++)
		printf("%s%.1f", r ? ", " : "", rounds[r]);
	printf("], \"threads\": [[\"\", 0]");
	threads();
	printf("]}\n");
	fflush(stdout);
	if (argc > 3)
		kill(getpid(), SIGKILL);
	return 0;
}
