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

#include "agent/core/spool_view.h"
#include "config/config.h"
#include "writer/fwdbwd.h"
#include "writer/gpu/gpu.h"
#include "writer/heap/heap.h"
#include "writer/inputs.h"
#include "writer/json.h"
#include "writer/output.h"
#include "writer/python/nn.h"
#include "writer/python/python.h"
#include "writer/read.h"
#include "writer/rows.h"
#include "writer/writer.h"

#define NAME_SLOTS 1024 /* a power of two */
#define NAME_TEXT  240

struct name_slot { /* text up to an event's tid, and its overload */
	uint32_t name, kind; /* kind 0 = empty */
	uint16_t head_len, tail_len;
	bool collective; /* the name is that of each collective's operator */
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
	struct symbols *symbols; /* of native stacks */
	struct python *python;
	struct nn *nn; /* NULL: none was called */
	struct flops_sum flops;
	struct json json;
	struct output out;
	int64_t base_ns;
	uint32_t pid;
	uint64_t external; /* last "External id" */
	uint64_t event; /* next "Ev Idx" */
	uint64_t ops; /* the span's "Op count" */
	struct writer_result *result;
	const struct writer_plan *plan; /* NULL: written in the process itself */
	struct name_slot names[NAME_SLOTS];
	char text[OUTPUT_BLOCK]; /* json's buffer */
};

/*
 * write.c: writes the cycle whose descriptor is `info` to
 * <logdir>/<pattern>.pt.trace.json[.gz] (children/ when CYCLE_CHILD): streams to
 * "<name>.part", then renames. A cycle that is still open (its process died) ends at its
 * last record. `config` as the spool header's config text; `plan` may be NULL. A cycle in
 * which nothing was recorded writes nothing, however many steps it has.
 */
int write_trace(const struct spool_view *v, const struct read_index *ix,
		const struct cycle_info *info, const struct config *config,
		const struct writer_plan *plan, struct writer_result *result);

/* meta.c: before and after the events. */
void meta_head(struct trace *t);
void meta_rows(struct trace *t);
void meta_tail(struct trace *t);
/* label.c: metadata events, by which readers name and sort rows. label_open writes one up
 * to the value of "pid"; label_arg from behind "tid" up to the value of its one argument,
 * behind which two braces close it; label_row both, for a row of this process (tid 0: the
 * process); label_thread all of a thread's: its number, and the name that it has. */
void label_open(struct trace *t, const char *name);
void label_arg(struct trace *t, const char *arg);
void label_row(struct trace *t, const char *name, uint32_t tid, const char *arg);
void label_thread(struct trace *t, uint32_t tid, const char *name, size_t len);

/* slice.c: slice_ts is ts or dur from ns, never negative; slice_head a thread's slice up
 * to its tid, slice_times from there to its args. */
#define TRACE_DRIVER_CALL 256 /* beside the kinds of records */
uint64_t slice_ts(const struct trace *t, int64_t ns);
/* Writes text as it stands, and slice_ts(ns) behind it. */
void slice_text_ts(struct trace *t, const char *text, int64_t ns);
void slice_head(struct trace *t, uint32_t name, unsigned kind);
void slice_times(struct trace *t, int64_t begin, int64_t end);
/* The texts kept for a name; NULL where they are too long: then slice_unkept_head writes
 * its head. */
struct name;
const struct name_slot *slice_slot(struct trace *t, uint32_t id, unsigned kind);
void slice_unkept_head(const struct trace *t, struct json *j, const struct name *n,
		       unsigned kind);
void slice_overload(struct json *j, const struct name *n);

/* facts.c: the value of "key = json" in the spool header's facts, or NULL. */
const char *facts_get(const struct spool_header *h, const char *key, size_t *len);
/* Writes "key = value" lines as a JSON object. Values become strings; with `as_json`,
 * those that are valid JSON are copied as they are. */
void facts_lines(struct json *j, const char *lines, size_t size, bool as_json);
/* Writes them as members of the file's own object, each with a comma behind it. */
void facts_metadata(struct json *j, const char *lines, size_t size);

/* events.c: writes every record of the cycle. */
int events_write(struct trace *t);

/* pattern.c: where the file goes. *timed: the name has the time in it, so no other
 * window's file has that name. */
int pattern_path(const struct trace *t, char *buf, size_t size, bool *timed);

#endif
