/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read - the chunks of one cycle as a stream of records for each thread.
 *
 * Threads  one at a time.
 * Memory   40 bytes for each run (a thread's stretch of a chunk), 16 for each chunk,
 *          48 for each step, 8 for each REC_HEAP; as much again while they are sorted.
 * Errors   -ENOMEM.  The spool may be damaged or hostile: a record that does not lie
 *          wholly inside its chunk ends that chunk.
 * Units    ticks; offsets in bytes from the spool's start.
 */
#ifndef WRITER_READ_H
#define WRITER_READ_H

#include "agent/core/spool_view.h"
#include "writer/pile.h"

struct run {
	uint64_t at, end; /* its records in the spool */
	uint64_t begin; /* of its first record */
	uint64_t said; /* offset of the struct rec_thread before it */
	uint32_t tid, ordinal;
};

struct span {
	uint64_t begin, end;
};

/* A record that counters are drawn from; a list of them is sorted by time. */
struct timed_record {
	uint64_t ticks, at; /* when, on the spool's clock; its offset */
};

struct step {
	int64_t number;
	uint64_t begin, end; /* end 0 = still open */
	bool own; /* a step of the program's own profiler */
};

/* Where the chunks of all cycles lie: with many short cycles the spool is read once. */
struct read_index {
	struct pile chunks; /* by cycle, then by offset */
};

int index_make(struct read_index *ix, const struct spool_view *v);
void index_free(struct read_index *ix);
/* index_make in parts: index_add takes each chunk, index_sort sorts them at the end. */
int index_add(struct read_index *ix, uint64_t cycle, uint64_t offset);
int index_sort(struct read_index *ix);
/* Calls fn(offset) for each chunk of a cycle that holds records. */
int index_chunks(const struct read_index *ix, uint64_t cycle,
		 int (*fn)(uint64_t offset, void *arg), void *arg);

struct cycle_read {
	const struct spool_view *view;
	uint64_t begin, end; /* the window */
	struct pile runs; /* struct run, by thread, then by time */
	struct pile own_steps; /* struct span: the program's own ProfilerStep#N */
	struct pile steps; /* struct step: these, and the agent's */
	struct pile counters; /* uint64_t: offsets of REC_HEAP, which is the process's */
	struct pile blocks; /* struct timed_record: REC_BLOCK, added by gpu_read */
	uint64_t events[REC_KINDS]; /* in the window */
	uint64_t pauses[4]; /* of REC_PYTHON, by enum pause_kind */
	uint64_t late[REC_KINDS]; /* records that begin after the window's end */
	uint64_t backward; /* operators that can end a flow */
	uint32_t gpus; /* highest CUDA device with tensor memory, + 1 */
	const char *backend; /* of the collectives in the window; NULL = there are none */
};

/* Looks at every chunk of the cycle once. */
int read_cycle(struct cycle_read *c, const struct spool_view *v,
	       const struct read_index *ix, const struct cycle_info *info);
void read_free(struct cycle_read *c);

static inline const struct run *read_run(const struct cycle_read *c, size_t i)
{
	return (const struct run *)c->runs.mem + i;
}

/* The record at *at, which moves behind it; NULL: no sound record before `end`. */
const struct record *read_step(const struct spool_view *v, uint64_t *at, uint64_t end);
/* Tells where the records of the chunk at `offset` lie; false: the chunk is not of that
 * kind, or not sound. */
bool read_chunk(const struct spool_view *v, uint64_t offset, enum chunk_kind kind,
		uint64_t *at, uint64_t *end);

/* Goes through the records of runs [run, last) in order. */
struct cursor {
	const struct cycle_read *cycle;
	size_t run, last;
	uint64_t at; /* offset of the next record; 0 = the run's first */
	bool heap; /* REC_ALLOC and REC_FREE, too */
};

/* Next record that lies in the window, and its offset; NULL at the end. */
const struct record *read_next(struct cursor *c, uint64_t *offset);
/* A record's end in the window: open records end where the window does. */
uint64_t read_end(const struct cycle_read *c, const struct record *r);
static inline bool read_is_open(const struct cycle_read *c, const struct record *r)
{
	return !r->end || r->end > c->end;
}
/* A time before the window becomes its begin, one after it its end: records made while it
 * opens or closes lie at its edge. */
static inline uint64_t read_in_window(const struct cycle_read *c, uint64_t ticks)
{
	return ticks < c->begin ? c->begin : ticks > c->end ? c->end : ticks;
}
/* Does the program's own profiler have a step in that time? */
bool read_own_step(const struct cycle_read *c, uint64_t begin, uint64_t end);
/* One past the last run of the thread that run `first` belongs to. */
size_t read_thread(const struct cycle_read *c, size_t first);

#endif
