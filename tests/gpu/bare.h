/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare - CUPTI's functions by name, and buffers whose records are counted and thrown
 * away.
 *
 * Threads  any; buffers are taken and put back under one lock.
 * Memory   buffers live as long as the process.
 * Errors   a function that this CUPTI has not is NULL.
 * Units    ns; ms since the start.
 */
#ifndef GPU_BARE_H
#define GPU_BARE_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KINDS 64
#define SAVED 256
/* As large as ours: agent/cupti/flow/buffers.c. */
#define EACH_THREAD (1u << 19)
#define EACH_SHARED (4u << 20)
#define FRONT       4096u /* before each buffer: who asked for it, and when */

enum { KERNEL = 10 };

static struct {
	int (*GetVersion)(uint32_t *);
	int (*Subscribe)(void **, void *, void *);
	int (*Unsubscribe)(void *);
	int (*EnableCallback)(uint32_t, void *, int, uint32_t);
	int (*Finalize)(void);
	int (*SetThreadIdType)(int);
	int (*ActivityRegisterCallbacks)(void *, void *);
	int (*ActivityEnable)(int);
	int (*ActivityDisable)(int);
	int (*ActivityFlushAll)(uint32_t);
	int (*ActivityGetNextRecord)(uint8_t *, size_t, uint8_t **);
	int (*ActivityEnableRuntimeApi)(uint32_t, uint8_t);
	int (*ActivityEnableDriverApi)(uint32_t, uint8_t);
	int (*GetCallbackName)(int, uint32_t, const char **);
	int (*ActivityGetNumDroppedRecords)(void *, uint32_t, size_t *);
	int (*ActivitySetAttribute)(int, size_t *, void *);
	int (*GetTimestamp)(uint64_t *);
	int (*ActivityPushExternalCorrelationId)(int, uint64_t);
} cupti;

struct front {
	uint8_t *next; /* free */
	long tid, ms;
};
struct saved {
	long tid, asked_ms, back_ms, ended; /* its thread had, when it came back */
};

static struct {
	uint8_t *free;
	size_t each;
	uint64_t asked, back, after_its_thread, slowest_ns, begin_ms;
	int saved;
	struct saved as[SAVED];
	uint64_t seen[KINDS], zero;
} got;
static pthread_mutex_t got_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long ms(void)
{
	return (long)(now(CLOCK_MONOTONIC) / 1000000 - got.begin_ms);
}

static struct front *front_of(uint8_t *buffer)
{
	return (void *)(buffer - FRONT);
}

static uint8_t *fresh(void)
{
	uint8_t *base = aligned_alloc(FRONT, FRONT + got.each);

	memset(base, 0, FRONT);
	memset(base + FRONT, getenv("BARE_DIRTY") ? 0xa5 : 0, got.each);
	return base + FRONT;
}

/* CUPTI is told that buffers are clean (attribute 5), so that no launch pays for it. */
static void put_back(uint8_t *buffer, size_t used)
{
	memset(buffer, getenv("BARE_DIRTY") ? 0xa5 : 0, used);
	pthread_mutex_lock(&got_lock);
	front_of(buffer)->next = got.free;
	got.free = buffer;
	pthread_mutex_unlock(&got_lock);
}

static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
	pthread_mutex_lock(&got_lock);
	*buffer = got.free;
	if (*buffer)
		got.free = front_of(*buffer)->next;
	got.asked++;
	pthread_mutex_unlock(&got_lock);
	if (!*buffer)
		*buffer = fresh();
	front_of(*buffer)->tid = syscall(SYS_gettid);
	front_of(*buffer)->ms = ms();
	*size = got.each;
	*records = 0;
}

/* The first BARE_BYTES buffers that come go to BARE_OUT.0, BARE_OUT.1, ... */
static void save(uint8_t *buffer, size_t valid, bool ended)
{
	const char *out = getenv("BARE_OUT"), *most = getenv("BARE_BYTES");
	const struct front *f = front_of(buffer);
	char path[512];
	FILE *file;

	if (!out || !most || got.saved >= atoi(most) || got.saved >= SAVED)
		return;
	snprintf(path, sizeof(path), "%s.%d", out, got.saved);
	got.as[got.saved++] = (struct saved){ f->tid, f->ms, ms(), ended };
	file = fopen(path, "w");
	if (file) {
		fwrite(buffer, 1, valid, file);
		fclose(file);
	}
}

static bool has_ended(long tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld", tid);
	return access(path, F_OK) != 0;
}

static void count_records(uint8_t *buffer, size_t valid)
{
	uint8_t *record = NULL;

	while (valid && !cupti.ActivityGetNextRecord(buffer, valid, &record)) {
		uint32_t kind;

		memcpy(&kind, record, 4);
		if (kind < KINDS)
			got.seen[kind]++;
		if (kind == KERNEL) { /* begin and end: the same place in each version */
			uint64_t times[2];

			memcpy(times, record + 16, 16);
			got.zero += !times[0] || !times[1];
		}
	}
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid)
{
	uint64_t begin = now(CLOCK_MONOTONIC);
	bool ended = has_ended(front_of(buffer)->tid);

	(void)context, (void)stream, (void)size;
	pthread_mutex_lock(&got_lock);
	save(buffer, valid, ended);
	count_records(buffer, valid);
	got.back++;
	got.after_its_thread += ended;
	begin = now(CLOCK_MONOTONIC) - begin;
	if (begin > got.slowest_ns)
		got.slowest_ns = begin;
	pthread_mutex_unlock(&got_lock);
	put_back(buffer, valid);
}

static bool find_cupti(void)
{
	const char *names[] = { getenv("BARE_CUPTI"), "libcupti.so", "libcupti.so.13",
				"libcupti.so.12", "libcupti.so.11" };
	void *library = NULL;

	for (size_t n = 0; n < 5 && !library; n++)
		if (names[n])
			library = dlopen(names[n], RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		return false;
#define FIND(name) *(void **)&cupti.name = dlsym(library, "cupti" #name)
	FIND(GetVersion), FIND(Subscribe), FIND(Unsubscribe), FIND(EnableCallback);
	FIND(Finalize), FIND(SetThreadIdType), FIND(ActivityRegisterCallbacks);
	FIND(ActivityEnable), FIND(ActivityDisable), FIND(ActivityFlushAll);
	FIND(ActivityGetNextRecord), FIND(ActivityEnableRuntimeApi);
	FIND(ActivityEnableDriverApi), FIND(GetCallbackName);
	FIND(ActivityGetNumDroppedRecords), FIND(ActivitySetAttribute);
	FIND(GetTimestamp), FIND(ActivityPushExternalCorrelationId);
#undef FIND
	return true;
}

#endif
