/* SPDX-License-Identifier: Apache-2.0 */
/* A file as proflaunch writes it, of a program that was never run: its events are those
 * that the writer would have made of it. */
#include "told.h"
#include "planted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISTANCE (512 * 1024) /* malloc_sample_kb's default */
#define STEP_US  30000

static struct place {
	int64_t live, sampled;
	int64_t allocs, bytes, freed; /* sampled, weighted */
	int64_t at[1000], sampled_at[1000];
} place[PLACES];

static int64_t usable; /* as malloc_usable_size counts */
static struct {
	int64_t middle, end, anonymous;
} step[1000];
static unsigned calls; /* in this step */
static int64_t middle; /* after the first of them */

/* glibc's blocks are 8 less than a multiple of 16, mapped ones than one of a page. */
static int64_t usable_of(int64_t bytes)
{
	if (bytes >= 128 * 1024)
		return (bytes + 16 + 4095) / 4096 * 4096 - 16;
	return bytes < 24 ? 24 : (bytes + 8 + 15) / 16 * 16 - 8;
}

int64_t told_take(unsigned at, int64_t bytes)
{
	double p = 1 - exp(-(double)bytes / DISTANCE);
	int64_t weight = share() < p ? (int64_t)((double)bytes / p + 0.5) : 0;
	struct place *l = &place[at];

	l->live += bytes;
	l->sampled += weight;
	l->bytes += weight;
	l->allocs += weight ? (int64_t)(1 / p + 0.5) : 0;
	usable += usable_of(bytes);
	/* The finisher looks every 20 ms, whatever is happening. */
	if (++calls == 1)
		middle = usable;
	return weight;
}

void told_give(unsigned at, int64_t bytes, int64_t weight)
{
	place[at].live -= bytes;
	place[at].sampled -= weight;
	place[at].freed += weight;
	usable -= usable_of(bytes);
}

void told_step(size_t i, int64_t anonymous)
{
	for (unsigned k = 0; k < PLACES; k++) {
		place[k].at[i] = place[k].live;
		place[k].sampled_at[i] = place[k].sampled;
	}
	step[i].middle = calls ? middle : usable;
	step[i].end = usable;
	step[i].anonymous = anonymous;
	calls = 0;
}

/* ---- the file ---- */

static FILE *out;

static void put_heap(const char *mode, size_t n)
{
	bool sampled = !strcmp(mode, "sample"), count = !strcmp(mode, "count");
	bool more = false;

	fprintf(out, "\"heap\":{\"mode\":\"%s\",\"since\":\"window\"", mode);
	if (sampled)
		fprintf(out, ",\"sample_bytes\":%d,\"weighted\":true", DISTANCE);
	fputs(",\"steps\":[", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%zu", i ? "," : "", i + 2);
	fputs("],\"total\":{\"allocs\":1},\"frames\":[", out);
	for (unsigned k = 0; k < PLACES; k++)
		fprintf(out, "%s\"place_%u\"", k ? "," : "", k);
	fputs("],\"stacks\":[", out);
	for (unsigned k = 0; k < PLACES; k++)
		fprintf(out, "%s[%u]", k ? "," : "", k);
	fputs("],\"sites\":[", out);
	for (unsigned k = 0; !count && k < PLACES; k++) {
		struct place *l = &place[k];

		if (sampled && !l->allocs)
			continue;
		fprintf(out,
			"%s{\"stack\":%u,\"op\":null,\"call\":\"malloc\",\"allocs\":%lld,"
			"\"bytes\":%lld,\"freed\":%lld,\"live\":%lld,\"steps\":[",
			more ? ",\n" : "", k, (long long)(sampled ? l->allocs : 1),
			(long long)(sampled ? l->bytes : 1),
			(long long)(sampled ? l->freed : 0),
			(long long)(sampled ? l->sampled : l->live));
		more = true;
		for (size_t i = 0; i < n; i++)
			fprintf(out, "%s%lld", i ? "," : "",
				(long long)(sampled ? l->sampled_at[i] : l->at[i]));
		fputs("]}", out);
	}
	fputs("],\"other\":{\"allocs\":1", out);
	for (size_t i = 0; count && i < n; i++)
		fprintf(out, "%s%lld", i ? "," : ",\"steps\":[", (long long)step[i].end);
	fputs(count ? "]}}" : "}}", out);
}

static void put_counter(const char *name, const char *key, size_t i, int at, int64_t n)
{
	fprintf(out,
		",\n{\"ph\":\"C\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%lld,"
		"\"args\":{\"%s\":%lld}}",
		name, (long long)i * STEP_US + at, key, (long long)n);
}

/* A place's tensor, made or given back. */
static void put_tensor(const char *space, size_t i, unsigned k, uint64_t address,
		       int64_t bytes)
{
	fprintf(out,
		",\n{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,"
		"\"ts\":%lld,\"args\":{\"Addr\":%llu,\"Bytes\":%lld,"
		"\"Total Allocated\":%lld,\"Total Reserved\":0,\"Device Type\":%d,"
		"\"Device Id\":%d}}",
		(long long)i * STEP_US + 10 + k, (unsigned long long)address,
		(long long)bytes, (long long)place[k].at[i], strcmp(space, "cpu") ? 1 : 0,
		strcmp(space, "cpu") ? 0 : -1);
}

/* What a place holds is one tensor, and another one when that changes. */
static void put_tensors(const char *space, size_t i)
{
	static uint64_t address[PLACES], next = 1 << 20;

	/* Something is always made and given back. */
	for (int sign = 1; sign >= -1; sign -= 2)
		fprintf(out,
			",\n{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,"
			"\"ts\":%lld,\"args\":{\"Addr\":64,\"Bytes\":%d,"
			"\"Total Allocated\":1,\"Total Reserved\":0,\"Device Type\":%d,"
			"\"Device Id\":%d}}",
			(long long)i * STEP_US + 5 - sign, sign * (1 << 20),
			strcmp(space, "cpu") ? 1 : 0, strcmp(space, "cpu") ? 0 : -1);
	for (unsigned k = 0; k < PLACES; k++) {
		int64_t before = i ? place[k].at[i - 1] : 0, now = place[k].at[i];

		if (now == before)
			continue;
		if (before)
			put_tensor(space, i, k, address[k], -before);
		address[k] = next += 64;
		if (now)
			put_tensor(space, i, k, address[k], now);
	}
}

void told_write(const char *path, const char *mode, const char *space, size_t n)
{
	bool heap = !strcmp(space, "heap") || !strcmp(space, "resident");

	out = fopen(path, "w");
	if (!out)
		abort();
	fputs("{\"proflaunch\":{\"version\":\"planted\"", out);
	if (heap) {
		putc(',', out);
		put_heap(mode, n);
	}
	fputs("},\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1}",
	      out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out,
			",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
			"\"ProfilerStep#%zu\",\"pid\":1,\"tid\":1,\"ts\":%lld,\"dur\":%d}",
			i + 2, (long long)i * STEP_US, STEP_US - 1);
		if (heap && !strcmp(mode, "count")) {
			put_counter("Heap", "live bytes", i, 9000, step[i].middle);
			put_counter("Heap", "live bytes", i, 29000, step[i].end);
		}
		put_counter("RSS", "anonymous", i, 9500, step[i].anonymous);
		put_counter("RSS", "anonymous", i, 29500, step[i].anonymous);
		if (!heap)
			put_tensors(space, i);
	}
	fputs("]}\n", out);
	fclose(out);
}
