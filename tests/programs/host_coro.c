/* SPDX-License-Identifier: Apache-2.0 */
/* Coroutines on stacks of 4 KiB in a fork child: what is called on them has that much and
 * no more. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096

static ucontext_t back;
static unsigned long sum;

static void body(void)
{
	for (unsigned i = 1; i < 200; i++) {
		void *p = malloc(i * 8);

		sum += p != NULL;
		p = realloc(p, i * 16);
		free(p);
		free(calloc(i, 3));
	}
}

/* A page that may not be touched lies below each stack. */
static void run_on_small_stack(void)
{
	ucontext_t here;
	char *area = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(area, PAGE, PROT_NONE);
	getcontext(&here);
	here.uc_stack.ss_sp = area + PAGE;
	here.uc_stack.ss_size = PAGE;
	here.uc_link = &back;
	makecontext(&here, body, 0);
	swapcontext(&back, &here);
	munmap(area, 2 * PAGE);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid = argc > 1 && argv[1][0] == 'p' ? 0 : fork();

	if (!pid) {
		for (int i = 0; i < 300; i++)
			run_on_small_stack();
		printf("sum %lu\n", sum);
		fflush(stdout);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	printf("child %x\n", (unsigned)status);
	return 0;
}
