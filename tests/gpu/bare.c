/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare - CUPTI with nobody behind it: the floor under any profiler of the GPU.
 *
 * Loaded by the driver (CUDA_INJECTION64_PATH): subscribes, registers buffers, enables
 * what BARE names, and throws every record away. No header of CUPTI's is needed.
 *
 *   BARE=kernel     kernels, copies, sets
 *   BARE=launches   and the calls that launch, one by one (CUPTI from 12.5 on; before,
 *                   all runtime and driver calls)
 *   BARE=calls      and all runtime and driver calls
 *   BARE=none       a subscriber alone
 *   BARE_AFTER=off  what was enabled is disabled again after BARE_MS milliseconds
 *   BARE_DIRTY=1    buffers are full of 0xa5 and said to be clean
 *   BARE_OUT=file   where to write what came, as JSON; with BARE_BYTES=1 the bytes of
 *                   the first buffers go to file.0, file.1, ...
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MEMCPY = 1,
	MEMSET = 2,
	DRIVER = 4,
	RUNTIME = 5,
	KERNEL = 10,
	OVERHEAD = 17,
	PEER = 22
};
#define BUFFER (1u << 20) /* as large as ours */
#define KINDS  64

static int (*get_version)(uint32_t *);
static int (*subscribe)(void **, void *, void *);
static int (*callbacks)(void *, void *);
static int (*enable)(int), (*disable)(int);
static int (*flush)(uint32_t);
static int (*next)(uint8_t *, size_t, uint8_t **);
static int (*one_runtime)(uint32_t, uint8_t), (*one_driver)(uint32_t, uint8_t);
static int (*callback_name)(int, uint32_t, const char **);
static int (*dropped)(void *, uint32_t, size_t *);
static int (*set_attribute)(int, size_t *, void *);
static int (*timestamp)(uint64_t *);

static _Atomic uint64_t seen[KINDS], zero, buffers, asked, worst_ns;
static int enabled[16], enabled_count, results[KINDS];
static uint32_t strides[KINDS];
static uint8_t *pool[256];
static int pooled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
	pthread_mutex_lock(&lock);
	*buffer = pooled > 0 ? pool[--pooled] : NULL;
	pthread_mutex_unlock(&lock);
	if (!*buffer) {
		*buffer = aligned_alloc(4096, BUFFER);
		memset(*buffer, 0, BUFFER);
	}
	*size = BUFFER;
	*records = 0;
	asked++;
}

/* CUPTI is told that buffers are clean (attribute 5), so that no launch pays for it. */
static void give_back(uint8_t *buffer, size_t valid)
{
	memset(buffer, getenv("BARE_DIRTY") ? 0xa5 : 0, valid);
	pthread_mutex_lock(&lock);
	if (pooled < 256) {
		pool[pooled++] = buffer;
		buffer = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(buffer);
}

/* Kept on purpose: a buffer that came back is not handed out again before it is walked.
 */
static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid)
{
	static _Atomic int saved;
	uint64_t begin = now(CLOCK_MONOTONIC);
	uint8_t *record = NULL;

	(void)context, (void)stream, (void)size;
	if (getenv("BARE_BYTES") && getenv("BARE_OUT") && saved < 4) {
		char path[512];
		FILE *file;

		snprintf(path, sizeof(path), "%s.%d", getenv("BARE_OUT"), saved++);
		file = fopen(path, "w");
		if (file) {
			fwrite(buffer, 1, valid, file);
			fclose(file);
		}
	}
	while (valid && !next(buffer, valid, &record)) {
		uint32_t kind = *(uint32_t *)record;

		if (kind < KINDS)
			seen[kind]++;
		if (kind == KERNEL) { /* start and end: the same place in every version */
			uint64_t start, end;

			memcpy(&start, record + 16, 8);
			memcpy(&end, record + 24, 8);
			zero += !start || !end;
		}
	}
	buffers++;
	give_back(buffer, valid);
	begin = now(CLOCK_MONOTONIC) - begin;
	for (uint64_t worst = worst_ns; begin > worst;)
		if (atomic_compare_exchange_weak(&worst_ns, &worst, begin))
			break;
}

static void on(int kind)
{
	results[kind] = enable(kind);
	if (!results[kind])
		enabled[enabled_count++] = kind;
}

/* The calls that launch, by name: `domain` 1 is the driver, 2 the runtime. */
static int launches_only(int domain, int (*one)(uint32_t, uint8_t))
{
	static const char *const parts[] = {
		"LaunchKernel", "GraphLaunch",       "Memcpy",
		"Memset",       "LaunchCooperative", "Synchronize"
	};
	int found = 0;

	for (uint32_t id = 1; id < 1200; id++) {
		const char *name = NULL;

		if (callback_name(domain, id, &name) || !name)
			continue;
		for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++)
			if (strstr(name, parts[p]) && (domain == 2 || p == 0)) {
				found += !one(id, 1);
				break;
			}
	}
	return found;
}

static int64_t clocks[2][2]; /* CUPTI's less CLOCK_REALTIME, and the bracket's width */

static void look_at_clock(int which)
{
	uint64_t before = now(CLOCK_REALTIME), theirs = 0;

	if (timestamp(&theirs))
		return;
	uint64_t after = now(CLOCK_REALTIME);

	clocks[which][0] = (int64_t)(theirs - before - (after - before) / 2);
	clocks[which][1] = (int64_t)(after - before);
}

static void *flusher(void *arg)
{
	const char *ms = getenv("BARE_MS");
	uint64_t off = getenv("BARE_AFTER")
			       ? now(CLOCK_MONOTONIC) +
					 (ms ? strtoull(ms, NULL, 10) : 1000) * 1000000
			       : 0;

	for (;;) {
		usleep(200000);
		flush(0);
		if (off && now(CLOCK_MONOTONIC) > off) {
			while (enabled_count > 0)
				disable(enabled[--enabled_count]);
			off = 0;
		}
	}
	return arg;
}

/* "name": {"kind": value, ...}: a name begins an object, what is 0 is left out. */
static void list(FILE *out, const char *name, long value, int kind)
{
	static int any, begun;

	if (name) {
		fprintf(out, "%s\"%s\": {", begun++ ? "}, " : "", name);
		any = 0;
	} else if (value) {
		fprintf(out, "%s\"%d\": %ld", any++ ? ", " : "", kind, value);
	}
}

static void report(void)
{
	FILE *out = getenv("BARE_OUT") ? fopen(getenv("BARE_OUT"), "w") : NULL;
	uint32_t version = 0;
	size_t lost = 0;

	look_at_clock(1);
	flush(1);
	if (!out)
		return;
	get_version(&version);
	if (dropped)
		dropped(NULL, 0, &lost);
	fprintf(out,
		"{\"version\": %u, \"buffers\": %lu, \"asked\": %lu, \"zero\": %lu, ",
		version, (unsigned long)buffers, (unsigned long)asked,
		(unsigned long)zero);
	fprintf(out, "\"dropped\": %zu, \"worst_callback_ns\": %lu, ", lost,
		(unsigned long)worst_ns);
	fprintf(out, "\"clock\": [[%ld, %ld], [%ld, %ld]], ", (long)clocks[0][0],
		(long)clocks[0][1], (long)clocks[1][0], (long)clocks[1][1]);
	list(out, "results", 0, 0);
	for (int k = 0; k < KINDS; k++)
		list(out, NULL, results[k], k);
	list(out, "strides", 0, 0);
	for (int k = 0; k < KINDS; k++)
		list(out, NULL, strides[k], k);
	list(out, "records", 0, 0);
	for (int k = 0; k < KINDS; k++)
		list(out, NULL, (long)seen[k], k);
	fprintf(out, "}}\n");
	fclose(out);
}

/* The size of each kind's record in this library: ask twice, subtract. */
static void probe_strides(void)
{
	static uint64_t scratch[512];

	for (uint32_t kind = 1; kind < KINDS; kind++) {
		uint8_t *first = NULL, *second = NULL;

		for (size_t w = 0; w < 512; w++)
			scratch[w] = kind;
		second = NULL;
		if (next((uint8_t *)scratch, sizeof(scratch), &second))
			continue;
		first = second;
		if (!next((uint8_t *)scratch, sizeof(scratch), &second))
			strides[kind] = (uint32_t)(second - first);
	}
}

static int find(void)
{
	const char *names[] = { getenv("BARE_CUPTI"), "libcupti.so", "libcupti.so.13",
				"libcupti.so.12", "libcupti.so.11" };
	void *cupti = NULL;

	for (size_t n = 0; n < 5 && !cupti; n++)
		if (names[n])
			cupti = dlopen(names[n], RTLD_NOW | RTLD_GLOBAL);
	if (!cupti)
		return -1;
	*(void **)&get_version = dlsym(cupti, "cuptiGetVersion");
	*(void **)&subscribe = dlsym(cupti, "cuptiSubscribe");
	*(void **)&callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks");
	*(void **)&enable = dlsym(cupti, "cuptiActivityEnable");
	*(void **)&disable = dlsym(cupti, "cuptiActivityDisable");
	*(void **)&flush = dlsym(cupti, "cuptiActivityFlushAll");
	*(void **)&next = dlsym(cupti, "cuptiActivityGetNextRecord");
	*(void **)&one_runtime = dlsym(cupti, "cuptiActivityEnableRuntimeApi");
	*(void **)&one_driver = dlsym(cupti, "cuptiActivityEnableDriverApi");
	*(void **)&callback_name = dlsym(cupti, "cuptiGetCallbackName");
	*(void **)&dropped = dlsym(cupti, "cuptiActivityGetNumDroppedRecords");
	*(void **)&set_attribute = dlsym(cupti, "cuptiActivitySetAttribute");
	*(void **)&timestamp = dlsym(cupti, "cuptiGetTimestamp");
	return 0;
}

static void nothing(void *a, int b, uint32_t c, const void *d)
{
	(void)a, (void)b, (void)c, (void)d;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	const char *what = getenv("BARE") ? getenv("BARE") : "launches";
	void *subscriber;
	pthread_t thread;
	uint8_t per_thread = 1;
	size_t size = 1;

	if (find()) {
		fprintf(stderr, "bare: no CUPTI\n");
		return 1;
	}
	for (int b = 0; b < 64; b++) {
		pool[pooled] = aligned_alloc(4096, BUFFER);
		memset(pool[pooled++], getenv("BARE_DIRTY") ? 0xa5 : 0, BUFFER);
	}
	probe_strides();
	results[0] = subscribe(&subscriber, (void *)nothing, NULL);
	set_attribute(9, &size, &per_thread);
	set_attribute(5, &size, &per_thread);
	look_at_clock(0);
	callbacks((void *)requested, (void *)completed);
	if (strcmp(what, "none")) {
		on(KERNEL), on(MEMCPY), on(MEMSET), on(PEER), on(OVERHEAD);
		if (!strcmp(what, "launches") && one_runtime && one_driver) {
			launches_only(2, one_runtime);
			launches_only(1, one_driver);
		} else if (strcmp(what, "kernel")) {
			on(RUNTIME), on(DRIVER);
		}
	}
	pthread_create(&thread, NULL, flusher, NULL);
	atexit(report);
	return 1;
}
