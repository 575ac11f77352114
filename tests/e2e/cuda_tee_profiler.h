/* SPDX-License-Identifier: Apache-2.0 */
/* The profiler inside cuda_tee: what it calls, its buffers, kinds on and off. */
#include "tests/e2e/cuda_tee_text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

typedef void (*requested_fn)(uint8_t **, size_t *, size_t *);
typedef void (*completed_fn)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*callback_fn)(void *, int, uint32_t, const void *);
int cuptiActivityRegisterCallbacks(requested_fn, completed_fn);
int cuptiActivityEnable(uint32_t);
int cuptiActivityDisable(uint32_t);
int cuptiActivityFlushAll(uint32_t);
int cuptiActivityGetNextRecord(uint8_t *, size_t, void **);
int cuptiActivityGetNumDroppedRecords(void *, uint32_t, size_t *);
int cuptiActivityPushExternalCorrelationId(int, uint64_t);
int cuptiActivityPopExternalCorrelationId(int, uint64_t *);
int cuptiActivityRegisterTimestampCallback(uint64_t (*)(void));
int cuptiSubscribe(void **, callback_fn, void *);
int cuptiUnsubscribe(void *);
int cuptiEnableDomain(uint32_t, void *, int);
int cuptiSetThreadIdType(int);
int cuptiFinalize(void);
int cuptiActivityEnableRuntimeApi(uint32_t, uint8_t) __attribute__((weak));
int cuptiGetVersion(uint32_t *);

enum {
	MEMCPY = 1,
	MEMSET,
	KERNEL,
	DRIVER,
	RUNTIME,
	CONCURRENT = 10,
	OVERHEAD = 17,
	SYNC = 38,
	EXTERNAL = 39,
	GRAPH = 51
};
enum { GET_DEVICE = 17, SET_ASYNC = 51 }; /* ids of calls */
enum { SINGLE_CALLS = 23 }; /* 12.5 */

static size_t buffer_size = 4 << 20;
static int refuse_after = -1; /* buffers, then none; -1 = never */
static _Atomic unsigned asked, returned, wrong;

#define MOST 64
static uint8_t *mine[MOST]; /* buffers that CUPTI has */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*most = 0;
	*size = 0;
	*buffer = NULL;
	if (refuse_after >= 0 && (int)asked >= refuse_after)
		return;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < MOST && !*buffer; i++)
		if (!mine[i])
			*buffer = mine[i] = calloc(1, buffer_size);
	pthread_mutex_unlock(&mutex);
	*size = buffer_size;
	asked++;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid)
{
	void *record = NULL;
	bool known = false;

	(void)context;
	(void)stream;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < MOST && !known; i++)
		if ((known = mine[i] == buffer))
			mine[i] = NULL;
	wrong += !known || size != buffer_size || valid > size;
	returned++;
	while (known && !cuptiActivityGetNextRecord(buffer, valid, &record))
		print_record(record);
	pthread_mutex_unlock(&mutex);
	if (known)
		free(buffer);
}

static void must(const char *what, int result)
{
	if (result)
		printf("%s: %d\n", what, result);
}

static void start(const uint32_t *kinds, size_t n)
{
	must("register", cuptiActivityRegisterCallbacks(requested, completed));
	for (size_t i = 0; i < n; i++)
		must("enable", cuptiActivityEnable(kinds[i]));
}

static void stop(const uint32_t *kinds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		must("disable", cuptiActivityDisable(kinds[i]));
	must("flush", cuptiActivityFlushAll(1));
	printf("-- stopped\n");
}
#define KINDS(...)                           \
	((const uint32_t[]){ __VA_ARGS__ }), \
		sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)
