/* SPDX-License-Identifier: Apache-2.0 */
/* weak - functions that a program asks for and does without. */
#include <stdio.h>
#include <stdlib.h>

#define WEAK __attribute__((weak))
extern WEAK void sdallocx(void *, size_t, int), free_sized(void *, size_t);
extern WEAK int cuInit(unsigned), cudaFree(void *), ncclGroupStart(void);
extern WEAK int posix_memalign(void **, size_t, size_t);
extern WEAK void nobody_has_this(void);

int main(void)
{
	printf("%d %d %d %d %d %d %d\n", !!sdallocx, !!free_sized, !!cuInit, !!cudaFree,
	       !!ncclGroupStart, !!posix_memalign, !!nobody_has_this);
	if (cuInit)
		printf("cuInit %d\n", cuInit(0));
	return 0;
}
