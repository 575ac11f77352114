/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel - threads that are cancelled, and allocate before they are told: malloc is no
 * cancellation point, from whatever code it is called.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 20

typedef void *(*call_fn)(void *(*allocate)(size_t), size_t size);

static int came_far, cleaned;

/* Code of its own for each thread, that nobody has seen yet. */
static call_fn make_code(void)
{
	static const unsigned char code[] = {
		0x48, 0x89, 0xf8, /* mov %rdi, %rax */
		0x48, 0x89, 0xf7, /* mov %rsi, %rdi */
		0x48, 0x83, 0xec, 0x08, /* sub $8, %rsp */
		0xff, 0xd0, /* call *%rax */
		0x48, 0x83, 0xc4, 0x08, /* add $8, %rsp */
		0xc3, /* ret */
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : (call_fn)memcpy(page, code, sizeof(code));
}

static void clean(void *unused)
{
	(void)unused;
	cleaned++;
}

static void allocate(void)
{
	call_fn call = make_code();

	for (size_t i = 0; i < 5000; i++)
		free(call(malloc, i));
	came_far++;
}

static void *run(void *unused)
{
	pthread_cleanup_push(clean, NULL);
	pthread_cancel(pthread_self());
	allocate();
	pthread_testcancel();
	came_far += 1000;
	pthread_cleanup_pop(0);
	return unused;
}

int main(void)
{
	int cancelled = 0;

	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, run, NULL);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("%d came far, %d cleaned, %d cancelled\n", came_far, cleaned, cancelled);
	return 0;
}
