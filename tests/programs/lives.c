/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lives - a process of a given size and length of life.
 *
 * lives KIB MS [daemon]: allocates so much in blocks of 1 KiB, stays so long, prints
 * "over". daemon: as a process of its own, in a session of its own, that holds nothing of
 * ours.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long kib = argc > 1 ? atol(argv[1]) : 1, ms = argc > 2 ? atol(argv[2]) : 0;
	char **block;

	if (argc > 3 && !strcmp(argv[3], "daemon")) {
		if (fork())
			return 0;
		setsid();
		for (int fd = 0; fd < 3; fd++)
			dup2(open("/dev/null", O_RDWR), fd);
	}
	block = calloc((size_t)kib + 1, sizeof(*block));
	for (long i = 0; i < kib; i++)
		memset(block[i] = malloc(1024), 1, 1024);
	usleep((useconds_t)(ms * 1000));
	for (long i = 0; i < kib; i++)
		free(block[i]);
	free(block);
	puts("over");
	return 0;
}
