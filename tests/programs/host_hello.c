/* SPDX-License-Identifier: Apache-2.0 */
/* Built in ways that cannot be preloaded: static, musl, under sanitizers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *say(void *name)
{
	printf("hello from a %s\n", (char *)name);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (int i = 0; i < 1000; i++)
		free(malloc((size_t)i));
	pthread_create(&thread, NULL, say, "thread");
	pthread_join(thread, NULL);
	return argc > 1 ? atoi(argv[1]) : 0;
}
