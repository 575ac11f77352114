/* SPDX-License-Identifier: Apache-2.0 */
/* traced - what glibc's debugging malloc tells of a leak, in t; "check": of a block that
 * is too small for what is written there. */
#include <mcheck.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static void *volatile lost;

	if (argc > 1 && argv[1][0] == 'c') {
		char *volatile block = malloc(24);

		block[24] = (char)~block[24]; /* it has a byte of its own there */
		free(block);
		return 7;
	}
	setenv("MALLOC_TRACE", "t", 1);
	mtrace();
	lost = malloc(77);
	lost = realloc(malloc(5), 6);
	free(lost);
	muntrace();
	return 0;
}
