/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read - a Kineto-schema trace file, event by event.
 *
 * A file of proflaunch's or torch's own, plain or gzip; an object with "traceEvents", or
 * the bare array. A view that needs another argument of events adds a row to EVENT_ARGS.
 *
 * Threads  one at a time.
 * Memory   bounded by the longest text of the file; texts that are kept go to `texts`.
 * Errors   0, or -1 with a line in `why` (path, reason and place). Of a broken file the
 *          events that are whole are read; -1 where it has none, or nobody asks for
 *          `damage`.
 * Units    nanoseconds.
 */
#ifndef REPORT_READ_H
#define REPORT_READ_H

#include "report/damage.h"
#include "report/parse.h"
#include "report/texts.h"

/* X(the key in JSON, the name in C): arguments that are numbers. */
#define EVENT_ARGS(X)                         \
	X("Bytes", BYTES)                     \
	X("Addr", ADDR)                       \
	X("Device Type", DEVICE_TYPE)         \
	X("Device Id", DEVICE_ID)             \
	X("Total Allocated", TOTAL_ALLOCATED) \
	X("Total Reserved", TOTAL_RESERVED)   \
	X("Sequence number", SEQUENCE)        \
	X("Fwd thread id", FWD_THREAD)        \
	X("External id", EXTERNAL)            \
	X("correlation", CORRELATION)         \
	X("device", DEVICE)                   \
	X("stream", STREAM)                   \
	X("bytes", COPIED)                    \
	X("registers per thread", REGISTERS)  \
	X("shared memory", SHARED)            \
	X("process", PROCESS)                 \
	X("parent", PARENT)                   \
	X("peak", PEAK)                       \
	X("allocations", ALLOCATIONS)         \
	X("frees", FREES)                     \
	X("resident", RESIDENT)               \
	X("flops", FLOPS)

enum event_arg {
#define ARG(json, c) ARG_##c,
	EVENT_ARGS(ARG)
#undef ARG
		ARGS
};

#define EVENT_SERIES 8

struct find_set;

struct event {
	char ph; /* 0 = none */
	uint32_t name, cat; /* texts, TEXT_NONE = none */
	int64_t pid,
		tid; /* a text's number, negated and less one, where they are texts */
	int64_t ts, dur;
	bool has_ts, has_dur;
	uint32_t has; /* one bit for each argument */
	int64_t arg[ARGS];
	uint32_t label; /* the argument "name" of metadata */
	int64_t input_bytes; /* of the first input, a tensor; -1 = not known */
	uint32_t stack; /* the argument "Call stack", TEXT_NONE = none */
	bool of_forward; /* ... which is the forward operator's */
	bool flops_ours; /* torch has no formula for "flops" */
	uint32_t path; /* "Module path" */
	bool continued; /* "Call" */
	uint32_t shapes, grid, block; /* texts of "Input Dims", ... */
	uint32_t group, members; /* "Process Group Name", "Process Group Ranks" */
	double blocks_per_sm, occupancy; /* below 0 = not said */
	unsigned series; /* how many values a counter has */
	struct {
		uint32_t key;
		int64_t value;
	} value[EVENT_SERIES];
};

static inline bool event_has(const struct event *e, enum event_arg arg)
{
	return e->has >> arg & 1;
}

static inline int64_t event_number(const struct event *e, enum event_arg arg,
				   int64_t otherwise)
{
	return event_has(e, arg) ? e->arg[arg] : otherwise;
}

struct read_visitor {
	struct texts *texts;
	/* false ends the reading with "not enough memory". */
	bool (*event)(void *arg, const struct event *e);
	/* Takes the value of a member of the file's own, whole, or leaves all of it.
	 * false: no memory. */
	bool (*top)(void *arg, const char *key, struct parse *p, bool *taken);
	void *arg;
	bool details; /* texts of shapes, grids and blocks are wanted */
	/* Where a broken file's damage is noted; NULL: such a file is an error. */
	struct damage *damage;
	bool strict; /* token by token only: for tests */
	const struct find_set *find; /* for tests; NULL: the best of this processor */
};

/* Reads the file, event by event, in its own order. The visitor keeps what it got after
 * an error, too. */
int read_trace(const char *path, const struct read_visitor *v, char *why, size_t size);
/* The same of any bytes; `name` is theirs in `why`. */
int read_stream(parse_source *source, void *arg, const char *name,
		const struct read_visitor *v, char *why, size_t size);

#endif
