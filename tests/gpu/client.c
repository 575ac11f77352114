/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client MODE N FILE - a program with a profiler of its own inside, linked to libcupti as
 * PyTorch is; CUPTI's clock is left as it is.
 *
 *   records     N training steps under it; FILE gets a line for each record of a kernel,
 *               a copy, a set or a call: kind, correlation id, begin, end, in CUPTI's ns
 *   subscriber  subscribes, sees N launches, subscribes a second time, and leaves
 */
#define main example_main
#include "examples/cuda_train.c"
#undef main

#include "agent/proflaunch.h"

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
int cuptiSubscribe(void **, callback_fn, void *);
int cuptiEnableDomain(uint32_t, void *, int);
int cuptiUnsubscribe(void *);

enum { BUFFER = 1 << 20 };
/* Where a record's correlation id and its begin lie: the same in every version. */
static const struct {
	uint8_t kind, id, begin;
} kinds[] = {
	{ 10, 92, 16 }, { 1, 44, 16 }, { 2, 44, 16 }, { 5, 32, 8 }, { 4, 32, 8 },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static FILE *out;
static unsigned written;

static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = calloc(1, BUFFER);
	*size = BUFFER;
	*records = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid)
{
	void *record = NULL;

	(void)context, (void)stream, (void)size;
	while (!cuptiActivityGetNextRecord(buffer, valid, &record)) {
		uint32_t kind, id;
		uint64_t times[2];

		memcpy(&kind, record, 4);
		for (size_t k = 0; k < KINDS; k++) {
			if (kinds[k].kind != kind)
				continue;
			memcpy(&id, (char *)record + kinds[k].id, 4);
			memcpy(times, (char *)record + kinds[k].begin, 16);
			fprintf(out, "%u %u %lu %lu\n", kind, id, times[0], times[1]);
			written++;
		}
	}
	free(buffer);
}

static void mark(void)
{
	if (proflaunch_step)
		proflaunch_step();
}

static void mode_records(int steps)
{
	int error = cuptiActivityRegisterCallbacks(requested, completed);

	for (size_t k = 0; k < KINDS; k++)
		error += cuptiActivityEnable(kinds[k].kind);
	for (int n = 0; n < steps; n++) {
		step();
		usleep(10000);
		mark();
	}
	cudaDeviceSynchronize();
	for (size_t k = 0; k < KINDS; k++)
		error += cuptiActivityDisable(kinds[k].kind);
	error += cuptiActivityFlushAll(1);
	printf("{\"error\": %d, \"records\": %u}\n", error, written);
}

static _Atomic unsigned called;

static void on_call(void *arg, int domain, uint32_t id, const void *data)
{
	(void)arg, (void)domain, (void)id, (void)data;
	called++;
}

static void mode_subscriber(int launches)
{
	void *first = NULL, *second = NULL;
	int error = cuptiSubscribe(&first, on_call, NULL), again, left;

	error += cuptiEnableDomain(1, first, 2); /* the runtime's calls */
	for (int n = 0; n < launches; n++)
		step();
	again = cuptiSubscribe(&second, on_call, NULL);
	left = cuptiUnsubscribe(first);
	printf("{\"error\": %d, \"called back\": %u, \"a second time\": %d, "
	       "\"unsubscribe\": %d}\n",
	       error, called, again, left);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1;

	out = fopen(argc > 3 ? argv[3] : "/dev/null", "w");
	if (!out)
		return 1;
	register_kernels();
	start();
	step();
	cudaDeviceSynchronize();
	if (argc > 1 && !strcmp(argv[1], "records"))
		mode_records(n);
	else
		mode_subscriber(n);
	fclose(out);
	fflush(stdout);
	usleep(300000);
	return 0;
}
