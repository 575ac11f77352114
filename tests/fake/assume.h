/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assume - what the checks of ASSUMPTIONS are made of: CUPTI by dlopen, records kept in
 * the order they came, kernels of examples/cuda_train.c.
 *
 * Threads  one check in one process; CUPTI's own threads append under a lock.
 * Memory   kept.
 * Errors   a check returns NULL, or what is otherwise than assumed.
 * Units    as CUPTI.
 */
#ifndef FAKE_ASSUME_H
#define FAKE_ASSUME_H

#define main example_main
#include "examples/cuda_train.c"
#undef main

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RT(name)    ((int (*)())symbol(NULL, name)) /* cudart's, whatever its prototype */
#define DRV(name)   ((int (*)())symbol(driver_library, name))
#define CUPTI(name) ((int (*)())symbol(cupti_library, "cupti" name))

enum { MEMCPY = 1, MEMSET, KERNEL_3, DRIVER, RUNTIME, DEVICE = 8, CONTEXT, KERNEL };
enum { OVERHEAD = 17, EVENT = 36, STREAM, SYNC, EXTERNAL, GRAPH = 51 };
enum { MOST_RECORDS = 20000 };

struct seen {
	uint8_t bytes[256];
	const void *buffer;
	uint32_t kind;
};
static struct seen seen[MOST_RECORDS];
static atomic_uint n_seen, n_requested, n_completed;
static void *cupti_library, *driver_library;
static size_t buffer_size = 1 << 20;
static bool null_buffers, dirty, own_time_known;
static pid_t request_thread, complete_thread;
static size_t tail_dirty; /* bytes behind the records that are not 0 */
static const char *missing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *say(const char *format, ...)
{
	static char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return text;
}

static int nothing(void)
{
	return -1;
}

static void *symbol(void *library, const char *name)
{
	void *at = dlsym(library ? library : RTLD_DEFAULT, name);

	if (!at)
		missing = name;
	return at ? at : (void *)nothing;
}

static pid_t tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	request_thread = tid();
	n_requested++;
	*most = 0;
	*size = null_buffers ? 0 : buffer_size;
	*buffer = null_buffers ? NULL : aligned_alloc(64, (buffer_size + 63) / 64 * 64);
	if (*buffer)
		memset(*buffer, 0xa5, buffer_size);
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid)
{
	uint8_t *record = NULL, *last = NULL;

	(void)context, (void)stream;
	complete_thread = tid();
	pthread_mutex_lock(&lock);
	n_completed++;
	while (CUPTI("ActivityGetNextRecord")(buffer, valid, &record) == 0) {
		struct seen *s = &seen[n_seen % MOST_RECORDS];
		size_t left = (size_t)(buffer + valid - record);

		memcpy(s->bytes, record, left < 256 ? left : 256);
		memcpy(&s->kind, record, 4);
		s->buffer = buffer;
		last = record;
		n_seen++;
	}
	for (size_t at = valid; last && at < size; at++)
		tail_dirty += buffer[at] != 0;
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static uint32_t u32(const struct seen *s, unsigned at)
{
	uint32_t value;

	memcpy(&value, s->bytes + at, sizeof(value));
	return value;
}

static uint64_t u64(const struct seen *s, unsigned at)
{
	uint64_t value;

	memcpy(&value, s->bytes + at, sizeof(value));
	return value;
}

static unsigned count(uint32_t kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_seen && i < MOST_RECORDS; i++)
		n += seen[i].kind == kind;
	return n;
}

/* The nth of a kind, from 0; an empty one when there are not so many. */
static const struct seen *nth(uint32_t kind, unsigned n)
{
	static const struct seen none;

	for (unsigned i = 0; i < n_seen && i < MOST_RECORDS; i++)
		if (seen[i].kind == kind && n-- == 0)
			return &seen[i];
	return &none;
}

static const struct seen *call(uint32_t cbid)
{
	for (unsigned i = 0;; i++) {
		const struct seen *s = nth(RUNTIME, i);

		if (!s->kind || u32(s, 4) == cbid)
			return s;
	}
}

static int enable(int kind)
{
	return CUPTI("ActivityEnable")(kind);
}

static int disable(int kind)
{
	return CUPTI("ActivityDisable")(kind);
}

static int flush(int flag)
{
	return CUPTI("ActivityFlushAll")(flag);
}

/* A kernel that leaves at once; CUDA starts with the first. */
static void go(cudaStream_t stream)
{
	static bool started;
	const dim3 one = { 1, 1, 1 }, block = { 32, 1, 1 };
	float rate = 0;
	int none = 0;
	void *args[] = { &net.weights, &net.gradient, &rate, &none };

	if (!started)
		start();
	started = true;
	cudaLaunchKernel((const void *)update, one, block, args, 0, stream);
}

static void done(void)
{
	cudaDeviceSynchronize();
	flush(0);
	usleep(20000);
}

static void sleep_there(void *arg)
{
	(void)arg;
	usleep(300000);
}

/* A kernel that has not ended for 300 ms: it waits behind a host function; the fake's
 * takes so long itself. */
static void go_slowly(void)
{
	void (*set)(const char *, const char *) = NULL;

	*(void **)&set = dlsym(driver_library, "fake_set");
	if (set)
		set("FAKE_KERNEL_NS", "300000000");
	else
		RT("cudaLaunchHostFunc")(net.stream, sleep_there, NULL);
	go(net.stream);
	if (set)
		set("FAKE_KERNEL_NS", NULL);
}

static uint32_t version(void)
{
	uint32_t v = 0;

	CUPTI("GetVersion")(&v);
	return v;
}

#endif
