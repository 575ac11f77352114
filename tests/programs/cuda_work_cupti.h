/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_work_cupti - the modes of cuda_work that deal with CUPTI itself.
 *
 * Threads  the program's one.  Memory  buffers of its own.  Errors  none: what is not
 * there is not called.  Units  none.
 */
#ifndef TESTS_CUDA_WORK_CUPTI_H
#define TESTS_CUDA_WORK_CUPTI_H

/* Between the steps somebody spoils CUPTI's buffers: an unknown kind, a cut record. */
static void mode_raw(int steps)
{
	const char *path = getenv("CUPTI");
	void *cupti = dlopen(path ? path : "libcupti.so", RTLD_NOW | RTLD_NOLOAD);
	int (*raw)(const void *, size_t) = NULL;
	void (*deliver)(void) = NULL;
	const uint32_t unknown[8] = { 0x7777 }, cut[2] = { 10 };

	if (cupti) {
		*(void **)&raw = dlsym(cupti, "fake_raw");
		*(void **)&deliver = dlsym(cupti, "fake_deliver");
	}
	for (int n = 0; n < steps; n++) {
		work((unsigned)n);
		if (raw && n % 2)
			raw(n % 4 == 1 ? (const void *)unknown : cut,
			    n % 4 == 1 ? sizeof(unknown) : sizeof(cut));
		if (raw && n % 4 == 3)
			deliver(); /* the cut one is the last of its buffer */
		step();
	}
}

/* A profiler of its own, by the book: it counts what it gets. */
static unsigned long theirs;

static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
	*size = 1 << 20;
	*buffer = aligned_alloc(64, *size);
	*records = 0;
}

static void completed(void *context, uint32_t id, uint8_t *buffer, size_t size,
		      size_t valid)
{
	int (*next)(uint8_t *, size_t, void **) = NULL;
	void *record = NULL;

	(void)context, (void)id, (void)size;
	*(void **)&next = dlsym(RTLD_DEFAULT, "cuptiActivityGetNextRecord");
	while (next && !next(buffer, valid, &record))
		theirs += *(uint32_t *)record == 10; /* concurrent kernels */
	free(buffer);
}

static void mode_client(int steps)
{
	const char *path = getenv("CUPTI");
	void *cupti = dlopen(path ? path : "libcupti.so", RTLD_NOW | RTLD_GLOBAL);
	int (*callbacks)(void *, void *) = NULL, (*kind)(int) = NULL,
				      (*flush)(uint32_t) = NULL;

	if (!cupti)
		exit(77);
	*(void **)&callbacks = dlsym(RTLD_DEFAULT, "cuptiActivityRegisterCallbacks");
	for (int n = 0; n < steps; n++) {
		if (n == 2) {
			printf("registered: %d\n", callbacks(requested, completed));
			*(void **)&kind = dlsym(RTLD_DEFAULT, "cuptiActivityEnable");
			printf("enabled: %d\n", kind(10));
		}
		work((unsigned)n);
		if (n == steps - 3) {
			*(void **)&flush = dlsym(RTLD_DEFAULT, "cuptiActivityFlushAll");
			printf("flushed: %d\n", flush(1));
			*(void **)&kind = dlsym(RTLD_DEFAULT, "cuptiActivityDisable");
			printf("disabled: %d\n", kind(10));
		}
		step();
	}
	printf("it saw %lu kernels\n", theirs);
}

#endif
