/* SPDX-License-Identifier: Apache-2.0 */
/* memory WAY - limits and locks of memory: the same results, and no more of it resident.
 */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static long status_kb(const char *key)
{
	char line[256];
	long kb = -1;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			kb = strtol(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return kb;
}

/* In steps of 64 MB: ours may be a few, not hundreds. */
static void print_coarse(const char *key)
{
	printf("%s about %ld MB\n", key, (status_kb(key) + 32768) / 65536 * 64);
}

static void allocate(int times)
{
	for (int i = 0; i < times; i++)
		free(malloc((size_t)i % 3000));
}

/* Whether blocks of 1 MB fill seven eighths of the limit. */
static void fill(long limit)
{
	int n = 0;

	while (n < 4096 && malloc(1 << 20))
		n++;
	printf("most of it: %d, errno %d\n", n >= (limit >> 20) / 8 * 7, errno);
}

/* One at a time, then more than is allowed: which are locked, and what each is told. */
static void lock_some(size_t limit)
{
	char *all = mmap(NULL, 4 * limit, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int result;

	for (unsigned i = 0; i < 3; i++) {
		errno = 0;
		result = mlock2(all + i * limit, limit / 2, i & 1 ? MLOCK_ONFAULT : 0);
		printf("mlock2 %d errno %d\n", result, errno);
		printf("VmLck: %ld kB\n", status_kb("VmLck:"));
	}
	errno = 0;
	result = mlock(all, 4 * limit);
	printf("mlock %d errno %d\n", result, errno);
	errno = 0;
	result = mlock2(all, limit, 8);
	printf("a flag that there is not: %d errno %d\n", result, errno);
	allocate(100000);
	printf("VmLck: %ld kB\n", status_kb("VmLck:"));
	printf("munlock %d\n", munlock(all, 4 * limit));
	errno = 0;
	result = mmap(NULL, 2 * limit, PROT_READ,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) == MAP_FAILED;
	printf("MAP_LOCKED %d errno %d\n", result, errno);
}

static volatile int ends;

/* Now and then it rests: what it had made ready is used up when it goes on. */
static void *keep_allocating(void *arg)
{
	(void)arg;
	for (unsigned n = 1; !ends; n++) {
		void *block[64];

		for (unsigned i = 0; i < 64; i++)
			block[i] = malloc(40 + i);
		for (unsigned i = 0; i < 64; i++)
			free(block[i]);
		if (n % 128 == 0)
			usleep(1000);
	}
	return NULL;
}

/* mlockall without a flag is an error, and beside a thread that allocates no more than
 * that. */
static void lock_beside(long times)
{
	pthread_t id;
	long failed = 0;

	pthread_create(&id, NULL, keep_allocating, NULL);
	for (long i = 0; i < times; i++) {
		failed += mlockall(0) == -1 && errno == EINVAL;
		usleep(50);
	}
	ends = 1;
	pthread_join(id, NULL);
	printf("mlockall %ld\n", failed);
}

/* What is left of little: another process is begun, and a sixth of it can be allocated.
 */
static void use_little(long limit)
{
	char *argv[] = { "true", NULL };
	void *sixth;
	int status = 0, err;
	pid_t pid;

	err = posix_spawnp(&pid, "true", NULL, NULL, argv, environ);
	if (!err)
		waitpid(pid, &status, 0);
	sixth = mmap(NULL, (size_t)limit / 6, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("spawn %d %x, a sixth %d\n", err, (unsigned)status, sixth != MAP_FAILED);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	long limit = argc > 2 ? atol(argv[2]) << 20 : 0;
	struct rlimit both = { (rlim_t)limit, (rlim_t)limit };

	allocate(100000);
	if (!strcmp(way, "mlockall")) {
		printf("mlockall %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
		allocate(100000);
		print_coarse("VmRSS:");
		print_coarse("VmLck:");
		printf("munlockall %d\n", munlockall());
	} else if (!strcmp(way, "beside")) {
		lock_beside(atol(argv[2]));
	} else if (!strcmp(way, "memlock")) {
		setrlimit(RLIMIT_MEMLOCK, &both);
		printf("mlockall %d", mlockall(MCL_CURRENT));
		printf(" errno %d\n", errno);
		allocate(100000);
	} else if (!strcmp(way, "mlock2")) {
		setrlimit(RLIMIT_MEMLOCK, &both);
		lock_some((size_t)limit);
	} else if (!strcmp(way, "little")) {
		setrlimit(RLIMIT_DATA, &both);
		use_little(limit);
	} else if (!strcmp(way, "as")) {
		setrlimit(RLIMIT_AS, &both);
		fill(limit);
	} else if (!strcmp(way, "data")) {
		setrlimit(RLIMIT_DATA, &both);
		fill(limit);
	} else {
		print_coarse("VmRSS:");
	}
	return 0;
}
