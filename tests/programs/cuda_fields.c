/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_fields OUT - one record of each kind that CUPTI has, every field with a value of
 * its own, between the records of this program's own work. OUT gets a line of JSON for
 * each: its kind, what it is called here, and each field as the headers have it. What
 * has to fit together or be a name's number is set, by the field's name; where a field
 * lies, the headers of the version say (fake_fields).
 */
#include "tests/fake/fake.h"

#include <inttypes.h>
#include <stdbool.h>
#include <unistd.h>

enum { SIZE = 1024, SEED = 7 };

static typeof(fake_record) *record;
static typeof(fake_fields) *fields;
static typeof(fake_raw) *raw;
static typeof(fake_now) *now;
static FILE *out;

/* The record at hand. */
static uint8_t mem[SIZE] __attribute__((aligned(8)));
static uint32_t kind_now;
static uint64_t base; /* ns */

static uint32_t kind_of(const char *name)
{
	size_t n;
	const struct fake_field *f = fields(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(f[i].kind_name, name))
			return f[i].kind;
	return 0;
}

static void begin(const char *kind, uint32_t seed)
{
	memset(mem, 0xa5, sizeof(mem)); /* pads are never clean */
	kind_now = kind_of(kind);
	record(mem, kind_now, seed);
}

/* Nothing where this version has no such field. */
static void put(const char *field, uint64_t value)
{
	size_t n;
	const struct fake_field *f = fields(&n);

	for (size_t i = 0; i < n; i++)
		if (f[i].kind == kind_now && !strcmp(f[i].field, field))
			memcpy(mem + f[i].offset, &value, f[i].width);
}

static void keep_bits(const char *field, uint64_t bits)
{
	put(field, fake_value(kind_now, field, SEED) & bits);
}

static void times(unsigned at, unsigned length)
{
	put("start", base + at);
	put("end", base + at + length);
}

static void tell_field(const struct fake_field *f)
{
	uint64_t value = 0;

	if (f->type == 'p') {
		memcpy(&value, mem + f->offset, 8);
		fprintf(out, ", \"%s\": \"%s\"", f->field, (char *)(uintptr_t)value);
	} else if (f->type == 'n' && f->width <= 8) {
		memcpy(&value, mem + f->offset, f->width);
		fprintf(out, ", \"%s\": %" PRIu64, f->field, value);
	}
}

static void end(const char *name)
{
	size_t n, stride = 0;
	const struct fake_field *f = fields(&n);

	for (size_t i = 0; i < n; i++) {
		if (f[i].kind != kind_now)
			continue;
		if (!stride)
			fprintf(out, "{\"KIND\": \"%s\", \"NAME\": \"%s\"",
				f[i].kind_name, name);
		stride = f[i].stride;
		tell_field(&f[i]);
	}
	fprintf(out, "}\n");
	raw(mem, stride);
}

/* ---- calls ---- */

/* The call that launches: its work's correlation id is its own. */
static void call(const char *kind, const char *name, uint32_t cbid, uint32_t id,
		 uint64_t result)
{
	begin(kind, SEED + id);
	put("cbid", cbid);
	put("correlationId", id);
	put("threadId", fake_value(kind_now, "threadId", id) & 0x3fffffff);
	put("returnValue", result);
	times(id, 5 + id % 1000);
	end(name);
}

static void launch(uint32_t id)
{
	call("RUNTIME", "launch", 211, id, 0);
}

/* ---- work ---- */

static void kernel(void)
{
	launch(101001);
	begin("CONCURRENT_KERNEL", SEED);
	times(201001, 3001);
	put("queued", base + 101501);
	put("submitted", base + 101601);
	put("correlationId", 101001);
	put("deviceId", 1);
	put("blockX", 33);
	put("blockY", 5);
	put("blockZ", 3);
	keep_bits("gridX", 0x7fffffff);
	keep_bits("gridY", 0xffff);
	keep_bits("gridZ", 0xffff);
	keep_bits("staticSharedMemory", 0xffffff);
	keep_bits("dynamicSharedMemory", 0xffffff);
	put("priority", (uint64_t)-3);
	end("kernel");
	begin("KERNEL", SEED); /* another client's: not in the file */
	times(205001, 3002);
	put("correlationId", 101001);
	end("serial");
}

static void copies(void)
{
	launch(102002);
	begin("MEMCPY", SEED);
	times(212001, 3003);
	put("correlationId", 102002);
	put("deviceId", 2);
	put("copyKind", 7); /* DtoA */
	put("srcKind", 5); /* managed */
	put("dstKind", 4); /* array */
	keep_bits("bytes", 0xffffffffff);
	end("copy");
	launch(103003);
	begin("MEMCPY2", SEED);
	times(223001, 3004);
	put("correlationId", 103003);
	put("deviceId", 3);
	put("copyKind", 10); /* PtoP */
	put("srcKind", 3); /* device */
	put("dstKind", 6); /* device static */
	keep_bits("bytes", 0xffffffffff);
	end("peer");
	launch(104004);
	begin("MEMSET", SEED);
	times(234001, 3005);
	put("correlationId", 104004);
	put("deviceId", 4);
	put("memoryKind", 2); /* pinned */
	keep_bits("bytes", 0xffffffffff);
	end("set");
}

static void graph(void)
{
	launch(105005);
	begin("GRAPH_TRACE", SEED);
	times(245001, 3006);
	put("correlationId", 105005);
	put("deviceId", 5);
	end("graph");
}

/* ---- waits ---- */

static void event(const char *name, uint32_t id, unsigned at, uint64_t sync)
{
	call("RUNTIME", "event call", 135, id, 0); /* cudaEventRecord */
	begin("CUDA_EVENT", SEED + id);
	put("correlationId", id);
	put("contextId", 77);
	put("eventId", 777);
	put("deviceId", 1);
	put("deviceTimestamp", base + at);
	put("cudaEventSyncId", sync);
	end(name);
}

/* Which of two records of an event is waited for, its cudaEventSyncId says. */
static void waits(void)
{
	event("event", 106006, 256001, 4711);
	event("later event", 107007, 257001, 4712);
	begin("SYNCHRONIZATION", SEED);
	times(268001, 3007);
	put("type", 2);
	put("contextId", 77);
	put("cudaEventId", 777);
	put("cudaEventSyncId", 4711);
	put("correlationId", 108008);
	end("stream waits");
	begin("SYNCHRONIZATION", SEED + 1);
	times(279001, 3008);
	put("type", 3);
	put("contextId", fake_value(kind_of("MEMCPY"), "contextId", SEED));
	put("correlationId", 109009);
	end("stream sync");
}

/* ---- the rest ---- */

static void others(void)
{
	call("DRIVER", "driver call", 307, 110010, 0); /* cuLaunchKernel, without work */
	call("DRIVER", "failed call", 307, 111011, 700); /* which explains it */
	begin("OVERHEAD", SEED);
	times(280001, 3009);
	put("overheadKind", 3 << 16); /* CUPTI's own resources */
	put("objectKind", 2);
	end("overhead");
	begin("MEMORY2", SEED);
	put("timestamp", base + 290001);
	put("memoryOperationType", 1);
	put("memoryKind", 7);
	put("deviceId", 6);
	put("memoryPoolConfig.memoryPoolType", 1);
	end("allocation");
	begin("MEMORY2", SEED + 1);
	put("timestamp", base + 291001);
	put("memoryOperationType", 2);
	put("memoryKind", 1);
	put("deviceId", 7);
	put("memoryPoolConfig.memoryPoolType", 0);
	end("release");
	begin("DEVICE", SEED);
	put("id", 8);
	end("device");
}

/* Everything is NULL where there is no fake: a machine without it skips. */
static void find(void *driver, void *cupti)
{
	if (!driver || !cupti)
		exit(77);
	*(void **)&now = dlsym(driver, "fake_now");
	*(void **)&raw = dlsym(cupti, "fake_raw");
	*(void **)&record = dlsym(cupti, "fake_record");
	*(void **)&fields = dlsym(cupti, "fake_fields");
	if (!now || !raw || !record || !fields)
		exit(77);
}

int main(int argc, char **argv)
{
	void *runtime = dlopen(getenv("CUDART"), RTLD_NOW | RTLD_GLOBAL), *memory;
	int (*allocate)(void **, size_t) = NULL;

	if (argc < 2 || !runtime)
		return 77;
	*(void **)&allocate = dlsym(RTLD_DEFAULT, "cudaMalloc");
	if (!allocate || allocate(&memory, 4096))
		return 1;
	out = fopen(argv[1], "w");
	find(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD),
	     dlopen(getenv("CUPTI"), RTLD_NOW));
	if (!out)
		return 1;
	usleep(50000);
	base = now();
	usleep(50000);
	kernel();
	copies();
	graph();
	waits();
	others();
	fclose(out);
	usleep(50000);
	return 0;
}
