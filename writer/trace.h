/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace - one cycle on its way into a file; what the writer's parts share.
 *
 * Threads  one at a time.
 * Memory   fixed buffers here; what grows is in cycle_read, links and row.
 * Errors   0 or -errno; text goes into `json`, whose error stays.
 * Units    ns since the epoch, unless named otherwise.
 */
#ifndef WRITER_TRACE_H
#define WRITER_TRACE_H

#include "agent/core/config.h"
#include "writer/cuda.h"
#include "writer/heap.h"
#include "writer/inputs.h"
#include "writer/json.h"
#include "writer/link.h"
#include "writer/output.h"
#include "writer/read.h"
#include "writer/rows.h"
#include "writer/writer.h"

#define NAME_SLOTS 1024 /* a power of two */
#define NAME_TEXT  240

struct name_slot { /* an event up to its tid, and its overload */
	uint32_t name, kind; /* kind 0 = empty */
	uint16_t head_len, tail_len;
	char text[NAME_TEXT];
};

struct trace {
	const struct spool_view *view;
	const struct read_index *index;
	const struct cycle_info *info;
	const struct config *config;
	struct cycle_read cycle;
	struct links links;
	struct row row;
	struct inputs *inputs; /* NULL without record_shapes */
	struct cuda *cuda; /* NULL without a GPU part */
	struct heap *heap; /* NULL without counter tracks */
	struct json json;
	struct output out;
	int64_t base_ns;
	uint32_t pid;
	uint64_t external; /* last "External id" */
	uint64_t event; /* next "Ev Idx" */
	uint64_t ops; /* "Op count" of the span */
	struct writer_result *result;
	struct name_slot names[NAME_SLOTS];
	char text[OUTPUT_BLOCK]; /* json's buffer */
};

/* write.c: writer_cycle for one of many. */
int trace_write(const struct spool_view *v, const struct read_index *ix,
		const struct cycle_info *info, const struct config *config,
		struct writer_result *result);

/* ts or dur from ns, never negative. */
uint64_t trace_ts(const struct trace *t, int64_t ns);

/* meta.c: before and after the events. */
void meta_head(struct trace *t);
void meta_rows(struct trace *t);
void meta_tail(struct trace *t);
/* The row of a thread: its number, and the name it has. */
void trace_put_thread(struct trace *t, uint32_t tid, const char *name, size_t len);

/* events.c: a slice of a thread, up to its tid; and from there to its args. */
#define TRACE_DRIVER_CALL 256 /* beside the kinds of records */
void trace_put_head(struct trace *t, uint32_t name, unsigned kind);
void trace_put_times(struct trace *t, int64_t begin, int64_t end);

/* facts.c: text of "key = json" in the spool header's facts, or NULL. */
const char *facts_get(const struct spool_header *h, const char *key, size_t *len);
/* All of them as a JSON object. */
void facts_write(struct json *j, const struct spool_header *h);
/* "key = value" lines as a JSON object of texts. */
void facts_lines(struct json *j, const char *lines, size_t size);
/* The same as members of the file's own object, each with a comma behind it. */
void facts_metadata(struct json *j, const char *lines, size_t size);

/* events.c: every record of the cycle. */
int events_write(struct trace *t);

/* pattern.c: where the file goes. */
int pattern_path(const struct trace *t, char *buf, size_t size);

#endif
