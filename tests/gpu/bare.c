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
 *   BARE=all        and every other kind, but those that exclude one of these
 *   BARE=others     those: kernels one by one, whole graphs, the old kind of memory
 *   BARE=none       a subscriber alone
 *   BARE_AFTER=off|unsubscribe|finalize  what was enabled is disabled again
 *                   BARE_MS milliseconds after the first record; and CUPTI left
 *   BARE_DIRTY=1    buffers are full of 0xa5 and said to be clean
 *   BARE_FLUSH=0    no flush, but at the end; otherwise five in a second
 *   BARE_OUT=file   where to write what came, as JSON; with BARE_BYTES=n the bytes of
 *                   the first n buffers go to file.0, file.1, ...
 */
#include "tests/gpu/bare.h"

enum { DRIVER_CALLS = 1, RUNTIME_CALLS = 2, CALLS_MOST = 1200 };

static const int works[] = { KERNEL, 1, 2, 22, 17 };
static const int calls[] = { 5, 4 };
static const int rest[] = { 8,  9,  37, 38, 36, 39, 49, 50, 52, 11, 12,
			    13, 20, 25, 53, 54, 55, 56, 57, 58, 59, 48 };
static const int others[] = { 3, 51, 45, 1, 2, 5 };

static int enabled[KINDS], enabled_count, results[KINDS];
static struct {
	uint16_t domain, id;
} singles[CALLS_MOST];
static unsigned single_count;
static uint32_t strides[KINDS];
static void *subscriber;
static _Atomic bool leaving, gone;
static long left_ms;
static int left_result = -1;
static int64_t clocks[2][2]; /* CUPTI's less CLOCK_REALTIME, and the bracket's width */

/* ---- on and off ---- */

static void on(const int *kinds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		results[kinds[i]] = cupti.ActivityEnable(kinds[i]);
		if (!results[kinds[i]])
			enabled[enabled_count++] = kinds[i];
	}
}
#define ON(kinds) on(kinds, sizeof(kinds) / sizeof(*(kinds)))

static int switch_single(int domain, uint32_t id, bool enable)
{
	return domain == DRIVER_CALLS ? cupti.ActivityEnableDriverApi(id, enable)
				      : cupti.ActivityEnableRuntimeApi(id, enable);
}

/* The calls that launch, by name. */
static void launches_only(int domain)
{
	static const char *const parts[] = {
		"LaunchKernel", "GraphLaunch",       "Memcpy",
		"Memset",       "LaunchCooperative", "Synchronize"
	};

	for (uint32_t id = 1; id < CALLS_MOST; id++) {
		const char *name = NULL;

		if (cupti.GetCallbackName(domain, id, &name) || !name)
			continue;
		for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
			if (!strstr(name, parts[p]) || (domain == DRIVER_CALLS && p > 0))
				continue;
			if (!switch_single(domain, id, true) &&
			    single_count < CALLS_MOST) {
				singles[single_count].domain = (uint16_t)domain;
				singles[single_count++].id = (uint16_t)id;
			}
			break;
		}
	}
}

static void all_off(void)
{
	while (single_count > 0) {
		single_count--;
		switch_single(singles[single_count].domain, singles[single_count].id,
			      false);
	}
	while (enabled_count > 0)
		cupti.ActivityDisable(enabled[--enabled_count]);
}

static void all_on(const char *what)
{
	bool single = cupti.ActivityEnableRuntimeApi && cupti.ActivityEnableDriverApi;

	if (!strcmp(what, "none"))
		return;
	if (!strcmp(what, "others")) {
		ON(others);
		return;
	}
	ON(works);
	if (!strcmp(what, "launches") && single) {
		launches_only(RUNTIME_CALLS);
		launches_only(DRIVER_CALLS);
	} else if (strcmp(what, "kernel")) {
		ON(calls);
	}
	if (!strcmp(what, "all")) {
		ON(rest);
		cupti.ActivityPushExternalCorrelationId(3, 77); /* of this thread */
	}
}

/* ---- leaving ---- */

/* At the end of a call of the program's, as CUPTI's documents want it. */
static void finalize(void)
{
	bool once = true;

	if (!atomic_compare_exchange_strong(&leaving, &once, false))
		return;
	cupti.ActivityFlushAll(1);
	cupti.Unsubscribe(subscriber);
	left_result = cupti.Finalize();
	left_ms = ms();
	atomic_store(&gone, true);
}

static void called_back(void *arg, int domain, uint32_t id, const void *data)
{
	(void)arg, (void)domain, (void)id;
	if (atomic_load(&leaving) && *(const int *)data == 1)
		finalize();
}

static void leave(const char *how)
{
	all_off();
	left_result = 0;
	left_ms = ms();
	if (!strcmp(how, "unsubscribe")) {
		cupti.ActivityFlushAll(0);
		left_result = cupti.Unsubscribe(subscriber);
	}
	if (strcmp(how, "finalize"))
		return;
	left_result = -1;
	atomic_store(&leaving, true);
	for (uint32_t id = 1; id < CALLS_MOST; id++) {
		const char *name = NULL;

		if (!cupti.GetCallbackName(RUNTIME_CALLS, id, &name) && name &&
		    strstr(name, "LaunchKernel"))
			cupti.EnableCallback(1, subscriber, RUNTIME_CALLS, id);
	}
}

static void report(void);

/* CUDA takes itself down in handlers of exit that it registers when it has started: a
 * second one of ours, later, runs before them. */
static void *flusher(void *arg)
{
	const char *wait = getenv("BARE_MS"), *how = getenv("BARE_AFTER");
	long off = 0, after = wait ? atol(wait) : 1000;
	bool flush = !getenv("BARE_FLUSH") || atoi(getenv("BARE_FLUSH"));
	int turn = 0;

	while (!atomic_load(&gone)) {
		usleep(20000);
		if (++turn == 10)
			atexit(report);
		if (flush && turn % 10 == 0 && !atomic_load(&gone) &&
		    !atomic_load(&leaving))
			cupti.ActivityFlushAll(0);
		if (how && !off && got.asked) /* the program is at work */
			off = ms() + after;
		if (how && off && ms() > off) {
			leave(how);
			how = NULL;
		}
	}
	return arg;
}

/* ---- what is told ---- */

static void look_at_clock(int which)
{
	uint64_t before = now(CLOCK_REALTIME), theirs = 0, after;

	if (cupti.GetTimestamp(&theirs))
		return;
	after = now(CLOCK_REALTIME);
	clocks[which][0] = (int64_t)(theirs - before - (after - before) / 2);
	clocks[which][1] = (int64_t)(after - before);
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

static void write_report(FILE *out, uint32_t version, size_t lost, uint64_t early)
{
	fprintf(out, "{\"version\": %u, \"buffers\": %lu, \"asked\": %lu, ", version,
		got.back, got.asked);
	fprintf(out, "\"each\": %zu, \"zero\": %lu, \"dropped\": %zu, ", got.each,
		got.zero, lost);
	fprintf(out, "\"before the end\": %lu, \"after its thread\": %lu, ", early,
		got.after_its_thread);
	fprintf(out, "\"left\": [%d, %ld, %d], \"ms\": %ld, ", left_result, left_ms, gone,
		ms());
	fprintf(out, "\"singles\": %u, \"worst_callback_ns\": %lu, ", single_count,
		got.slowest_ns);
	fprintf(out, "\"clock\": [[%ld, %ld], [%ld, %ld]], \"saved\": [", clocks[0][0],
		clocks[0][1], clocks[1][0], clocks[1][1]);
	for (int i = 0; i < got.saved; i++)
		fprintf(out, "%s[%ld, %ld, %ld, %ld]", i ? ", " : "", got.as[i].tid,
			got.as[i].asked_ms, got.as[i].back_ms, got.as[i].ended);
	fprintf(out, "], ");
	list(out, "results", 0, 0);
	for (int k = 0; k < KINDS; k++)
		list(out, NULL, results[k], k);
	list(out, "strides", 0, 0);
	for (int k = 0; k < KINDS; k++)
		list(out, NULL, strides[k], k);
	list(out, "records", 0, 0);
	for (int k = 0; k < KINDS; k++)
		list(out, NULL, (long)got.seen[k], k);
	fprintf(out, "}}\n");
}

static void report(void)
{
	FILE *out;
	static _Atomic bool told;
	uint64_t early = got.back;
	uint32_t version = 0;
	size_t lost = 0;

	if (atomic_exchange(&told, true))
		return;
	out = getenv("BARE_OUT") ? fopen(getenv("BARE_OUT"), "w") : NULL;
	if (!atomic_exchange(&gone, true)) {
		look_at_clock(1);
		cupti.ActivityFlushAll(1);
		cupti.ActivityGetNumDroppedRecords(NULL, 0, &lost);
	}
	if (!out)
		return;
	cupti.GetVersion(&version);
	write_report(out, version, lost, early);
	fclose(out);
}

/* The size of each kind's record in this library: ask twice, subtract. */
static void probe_strides(void)
{
	static uint64_t scratch[512];

	for (uint32_t kind = 1; kind < KINDS; kind++) {
		uint8_t *first, *second = NULL;

		for (size_t w = 0; w < 512; w++)
			scratch[w] = kind;
		if (cupti.ActivityGetNextRecord((uint8_t *)scratch, sizeof(scratch),
						&second))
			continue;
		first = second;
		if (!cupti.ActivityGetNextRecord((uint8_t *)scratch, sizeof(scratch),
						 &second))
			strides[kind] = (uint32_t)(second - first);
	}
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	const char *what = getenv("BARE") ? getenv("BARE") : "launches";
	pthread_t thread;
	uint8_t yes = 1;
	size_t size = 1;

	got.begin_ms = now(CLOCK_MONOTONIC) / 1000000;
	if (!find_cupti()) {
		fprintf(stderr, "bare: no CUPTI\n");
		return 1;
	}
	probe_strides();
	results[0] = cupti.Subscribe(&subscriber, (void *)called_back, NULL);
	cupti.SetThreadIdType(1);
	got.each = cupti.ActivitySetAttribute(9, &size, &yes) ? EACH_SHARED : EACH_THREAD;
	cupti.ActivitySetAttribute(5, &size, &yes);
	for (int b = 0; b < 64; b++)
		put_back(fresh(), 0);
	look_at_clock(0);
	cupti.ActivityRegisterCallbacks((void *)requested, (void *)completed);
	all_on(what);
	pthread_create(&thread, NULL, flusher, NULL);
	atexit(report);
	return 1;
}
