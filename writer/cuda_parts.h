/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_parts - what the cuda_*.c share.
 *
 * Threads  one at a time.
 * Memory   piles of the trace that is being written.
 * Errors   as cuda.h.
 * Units    as named.
 */
#ifndef WRITER_CUDA_PARTS_H
#define WRITER_CUDA_PARTS_H

#include "writer/collective.h"
#include "writer/cuda.h"
#include "writer/demangle.h"
#include "writer/symbols.h"
#include "writer/trace.h"

#define CUDA_DEVICES 64 /* as many as a reader takes */
#define CUDA_PART    65536 /* the clocks' rates are as close as a part of so many */
#define CUDA_LANES   16 /* rows for what overlaps on one stream */
#define CUDA_BEHIND  3600e9 /* ns behind a window in which its GPU work may lie */

/* ---- CUPTI's clock ---- */

struct cuda_clock {
	struct pile moments; /* struct moment, by time */
	size_t all; /* moments there were */
	size_t hit; /* the one used last */
	double per_tick; /* ns, for what lies before, behind and without moments */
	uint64_t error; /* ticks; how far a moment may be off */
	uint64_t ticks; /* without any moment: this tick ... */
	int64_t ns; /* ... was then */
};

int cuda_clock_add(struct cuda_clock *c, const struct rec_moment *m);
int cuda_clock_ready(struct cuda_clock *c, const struct spool_header *head,
		     uint64_t begin, uint64_t end);
uint64_t cuda_clock_ticks(struct cuda_clock *c, uint64_t ns);
/* The tick `ns` after another one. */
uint64_t cuda_clock_later(const struct cuda_clock *c, uint64_t ticks, double ns);

/* ---- calls ---- */

enum cuda_call_mark {
	MARK_EARLY = 1, /* its GPU work seems to begin before it */
	MARK_NO_ARROW = 2, /* the work even ends before it */
	MARK_UNDER = 4, /* a driver call under a runtime call of the same id */
};

struct cuda_call {
	uint64_t begin, end; /* ticks */
	uint64_t at; /* its record */
	uint64_t external; /* "External id" of its owner; 0 = none */
	int64_t begin_ns; /* where it was written */
	uint32_t tid, correlation;
	uint32_t first; /* the GPU work its arrow goes to, + 1 */
	uint32_t annotation, collective; /* + 1 */
	uint32_t stack; /* of struct cuda.stacks, + 1 */
	uint16_t flags; /* enum call_flag */
	uint16_t marks; /* enum cuda_call_mark */
};

/* ---- what is on the GPU's rows ---- */

enum cuda_row_kind { ROW_STREAM, ROW_SYNC, ROW_DEVICE, ROW_OVERHEAD };

struct cuda_work {
	int64_t begin, end; /* ns; until cuda_place as they were recorded */
	uint64_t row; /* cuda_row_of */
	uint32_t at; /* its record, offset / 8 */
	uint32_t call; /* + 1 */
	uint16_t lane;
	uint8_t kind; /* enum record_kind */
	bool in_ticks; /* until cuda_place */
	uint32_t spare;
};

/* Sorts by device, then kind of row, then stream; overhead is nobody's. */
static inline uint64_t cuda_row_of(enum cuda_row_kind kind, uint32_t device,
				   uint32_t stream)
{
	return (uint64_t)(kind == ROW_OVERHEAD) << 48 | (uint64_t)(device & 0xff) << 40 |
	       (uint64_t)kind << 32 | stream;
}

struct cuda_annotation {
	uint64_t external; /* its "External id" */
	uint32_t name;
	uint32_t row; /* the one that is being written, by number ... */
	uint32_t note; /* ... and what it is there */
	uint32_t spare;
};

struct cuda_stack { /* a REC_STACK */
	uint64_t ticks, at;
	uint32_t tid, taken;
};

struct cuda_event { /* a REC_EVENT */
	uint64_t key; /* context and event id */
	uint64_t ticks; /* of the call that recorded it */
	uint32_t at; /* offset / 8 */
	uint32_t spare;
};

struct cuda_collective { /* an operator that is one: what it was is looked up again */
	struct cursor behind;
	uint64_t at;
};

/* An operator, annotation or step around the place we are at. */
struct cuda_owner {
	uint64_t end; /* ticks */
	uint64_t slice; /* "External id" of this one, ... */
	uint64_t op; /* of the innermost operator, ... */
	uint64_t nccl; /* and of the innermost nccl:* */
	uint32_t annotation, collective; /* + 1 */
};

#define KERNEL_SLOTS 512 /* a power of two */
#define KERNEL_TEXT  740

struct kernel_shape { /* what the same kernel is launched with again and again */
	uint32_t grid[3];
	uint16_t block[3], registers;
	uint32_t static_shared, dynamic_shared, device;
};

struct kernel_slot { /* ... and what is written of it */
	struct kernel_shape shape;
	uint32_t len; /* 0 = empty */
	char text[KERNEL_TEXT];
};

struct cuda {
	struct pile calls; /* struct cuda_call, by thread and begin */
	struct pile work; /* struct cuda_work, by row and begin */
	struct pile blocks; /* uint64_t: offsets of REC_BLOCK */
	struct pile events; /* struct cuda_event, by key and time */
	struct pile stacks; /* struct cuda_stack, by thread and time */
	struct pile owners; /* struct cuda_owner */
	struct pile annotations; /* struct cuda_annotation */
	struct pile collectives; /* struct cuda_collective */
	struct cuda_clock clock;
	uint32_t *by_correlation; /* open addressing: call + 1 */
	size_t slots;
	size_t next; /* call to be written */
	int64_t last; /* ns: end of the last GPU work */
	uint64_t
		waits; /* row of waits for a stream, from the stream's: more than any's */
	bool stream_one; /* there is a stream 1 */
	uint64_t known[CUDA_COUNTS]; /* found by us */
	uint64_t gpu, matched; /* pieces of GPU work; with their call */
	const struct rec_device *device[CUDA_DEVICES];
	uint32_t devices; /* highest id + 1 */
	struct { /* which device a context is on */
		uint32_t context, device;
	} context[CUDA_DEVICES];
	unsigned contexts;
	struct demangle *demangle;
	struct symbols *symbols; /* of the stacks; NULL: there are none */
	struct kernel_slot kernel[KERNEL_SLOTS];
};

static inline struct cuda_call *cuda_call_at(const struct cuda *c, size_t i)
{
	return (struct cuda_call *)c->calls.mem + i;
}

static inline struct cuda_work *cuda_work_at(const struct cuda *c, size_t i)
{
	return (struct cuda_work *)c->work.mem + i;
}

static inline const void *cuda_record(const struct trace *t, uint64_t offset)
{
	return t->view->base + offset;
}

static inline const struct rec_gpu *cuda_gpu(const struct trace *t,
					     const struct cuda_work *w)
{
	return cuda_record(t, (uint64_t)w->at * 8);
}

/* cuda_link.c */
int cuda_link(struct trace *t);
struct cuda_call *cuda_find(const struct trace *t, uint32_t correlation, bool hook);

/* cuda_missing.c: calls whose GPU work should be there. */
int cuda_count_missing(struct trace *t);

/* cuda_snap.c: calls lie inside or outside of operators, never across an edge. */
int cuda_snap(struct trace *t);

/* cuda_args.c: members of args, each with a comma behind it. */
void cuda_put_shape(struct trace *t, const struct rec_kernel *k);
void cuda_put_graph(struct json *j, const struct rec_gpu *g);
void cuda_put_channel(struct json *j, const struct rec_gpu *g, uint32_t channel);
void cuda_put_bandwidth(struct json *j, uint64_t bytes, int64_t ns);
/* The structs behind a piece of GPU work; NULL: not there. */
const struct gpu_graph *cuda_graph_of(const struct rec_gpu *g);
const struct gpu_latency *cuda_latency_of(const struct rec_gpu *g);
const struct gpu_peer *cuda_peer_of(const struct rec_gpu *g);

/* cuda_stacks.c: the native stacks of calls. */
int cuda_stacks_ready(struct trace *t);
void cuda_put_stack(struct trace *t, const struct cuda_call *call);

/* cuda_rows.c: the rows of the GPU, and what overlaps on them. */
void cuda_lanes(struct cuda *c);
size_t cuda_row_end(const struct cuda *c, size_t first); /* one past the row's last */
void cuda_put_row(struct trace *t, uint64_t row, unsigned lane); /* pid and tid */
void cuda_row_names(struct trace *t, uint64_t row, unsigned lane);
void cuda_process_rows(struct trace *t);
/* A stream as it is shown: never 0, for readers take that for none. */
static inline uint32_t cuda_stream(uint32_t stream)
{
	return stream ? stream : 7;
}

/* cuda_write.c: one slice, and the end of its arrow. */
int cuda_put_work(struct trace *t, struct row *row, size_t i);

/* cuda_sync.c */
void cuda_put_sync(struct trace *t, const struct cuda_work *w, int64_t begin,
		   int64_t end);
void cuda_put_event(struct trace *t, const struct cuda_work *w, int64_t begin,
		    int64_t end);
int cuda_events_ready(struct trace *t);
void cuda_instants(struct trace *t);
/* Waits for a stream begin where the work they wait for ends. */
void cuda_shift_waits(struct cuda *c);
uint32_t cuda_device_of(const struct cuda *c, uint32_t context);

#endif
