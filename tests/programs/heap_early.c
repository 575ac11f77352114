/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose constructor runs before the agent's and allocates; its blocks are
 * looked at, moved and freed when the program ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 1000

static char *block[BLOCKS];

static void __attribute__((constructor)) early(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		block[i] = malloc((size_t)i + 1);
		if (i % 2)
			block[i] = realloc(block[i], 3 * (size_t)i);
		memset(block[i], i, (size_t)i + 1);
	}
}

static void __attribute__((destructor)) late(void)
{
	int whole = 0;

	for (int i = 0; i < BLOCKS; i++) {
		block[i] = realloc(block[i], 5000);
		whole += block[i][0] == (char)i && block[i][i] == (char)i;
		free(block[i]);
	}
	printf("early: %d blocks are whole\n", whole);
	fflush(stdout);
}
