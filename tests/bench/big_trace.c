/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace file of any size, as torch 2.13 spells it with shapes, memory and stacks.
 *
 * big_trace MEGABYTES > FILE: steps of 12 layers; each operator holds three others, a
 * memory event and a frame of Python; the backward pass runs on a thread of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t written, now = 4405077979332024; /* now: ns */
static unsigned id = 1;

static void put_times(int64_t begin, int64_t dur)
{
	written += (uint64_t)printf(
		"    \"ts\": %" PRId64 ".%03d, \"dur\": %" PRId64 ".%03d,\n",
		begin / 1000, (int)(begin % 1000), dur / 1000, (int)(dur % 1000));
}

static void put_head(const char *cat, const char *name, unsigned number, int tid)
{
	written += (uint64_t)printf(
		"  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"", cat);
	written += (uint64_t)printf(name, number);
	written += (uint64_t)printf("\", \"pid\": 77001, \"tid\": %d,\n", tid);
}

static void put_op(const char *name, unsigned layer, int tid, int64_t begin, int64_t dur)
{
	put_head("cpu_op", name, 0, tid);
	put_times(begin, dur);
	written += (uint64_t)printf(
		"    \"args\": {\n      \"External id\": %u,\"Record function id\": 0, "
		"\"Sequence number\": %u, \"Fwd thread id\": %d, \"Concrete Inputs\": "
		"[\"\", \"\", \"[%u]\"], \"Input type\": [\"float\", \"float\", \"\"], "
		"\"Input Strides\": [[%u, 1], [1, %u], []], \"Input Dims\": [[%u, %u], "
		"[%u, %u], []], \"Ev Idx\": %u\n    }\n  },\n",
		id, id / 7, tid == 77001 ? 0 : 1, layer, 64 * layer, 64 * layer,
		32 + layer, 64 * layer, 64 * layer, 128, id);
	id++;
}

static void put_frame(unsigned layer, int64_t begin, int64_t dur)
{
	put_head("python_function", "torch/nn/modules/linear.py(%u): forward",
		 100 + layer, 77001);
	put_times(begin, dur);
	written += (uint64_t)printf(
		"    \"args\": {\n      \"Python parent id\": %u, \"Python id\": %u, "
		"\"Ev Idx\": %u\n    }\n  },\n",
		id - 1, id, id);
}

static void put_memory(int64_t at, int bytes)
{
	written += (uint64_t)printf(
		"  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", "
		"\"name\": \"[memory]\", \"pid\": 77001, \"tid\": 77001,\n    \"ts\": %" PRId64
		".%03d,\n    \"args\": {\n      \"Total Reserved\": 0, \"Total Allocated\": "
		"%u, \"Bytes\": %d, \"Addr\": %" PRIu64
		", \"Device Id\": -1, \"Device Type\": 0, \"Ev Idx\": %u\n    }\n  },\n",
		at / 1000, (int)(at % 1000), 1048576 + (bytes > 0 ? bytes : 0), bytes,
		UINT64_C(139637976727552) + id / 2 * 64, id);
}

/* An operator with what is in it; 40 us. */
static void put_layer(unsigned layer, int tid)
{
	int64_t begin = (int64_t)now;

	if (tid == 77001)
		put_frame(layer, begin, 38000);
	put_op(tid == 77001 ? "aten::linear" : "AddmmBackward0", layer, tid, begin + 1000,
	       36000);
	put_op("aten::t", layer, tid, begin + 2000, 3000);
	put_op("aten::transpose", layer, tid, begin + 2500, 2000);
	put_op("aten::addmm", layer, tid, begin + 6000, 30000);
	if (tid == 77001)
		put_memory(begin + 7000, (id & 2) ? 4096 : -4096);
	now += 40000;
}

int main(int argc, char **argv)
{
	uint64_t want = argc > 1 ? strtoull(argv[1], NULL, 10) * 1000000 : 10000000;

	printf("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n  ],\n  "
	       "\"record_shapes\": 1,\n  \"profile_memory\": 1,\n  \"with_stack\": 1,\n  \"distributedInfo\": {\"backend\": \"\", \"rank\": 0, \"world_size\": 1},\n  "
	       "\"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": "
	       "1775078550000000000,\n  \"traceEvents\": [\n");
	for (unsigned step = 2; written < want; step++) {
		put_head("user_annotation", "ProfilerStep#%u", step, 77001);
		put_times((int64_t)now, 24 * 40000 + 1000);
		written += (uint64_t)printf(
			"    \"args\": {\n      \"External id\": %u, \"Ev "
			"Idx\": %u\n    }\n  },\n",
			id, id);
		id++;
		for (unsigned layer = 1; layer <= 12; layer++)
			put_layer(layer, 77001);
		for (unsigned layer = 12; layer; layer--)
			put_layer(layer, 77002);
		now += 5000;
	}
	printf("  {\n    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0.000, \"pid\": "
	       "77001, \"tid\": 0,\n    \"args\": {\n      \"name\": \"python3\"\n    }\n  }\n"
	       "  ],\n  \"traceName\": \"big.pt.trace.json\"\n}\n");
	return ferror(stdout) != 0;
}
