/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_parts - what the heap_*.c share.
 *
 * Threads  one at a time.
 * Memory   16 to 32 bytes for each block that is live, 120 for each site up to
 *          HEAP_KEPT, 24 for each step in which a site changed; 100 KiB a track.
 * Errors   as heap.h.
 * Units    bytes; ticks or ns since the epoch as named; counts in 1 / HEAP_ONE, for a
 *          sample stands for many.
 */
#ifndef WRITER_HEAP_PARTS_H
#define WRITER_HEAP_PARTS_H

#include "agent/core/record_heap.h"
#include "writer/heap.h"
#include "writer/symbols.h"
#include "writer/trace.h"

#define HEAP_SITES   2000 /* that are written one by one */
#define HEAP_KEPT    (1u << 18) /* that are told apart */
#define HEAP_LARGEST 1000 /* allocations shown on their threads' rows ... */
#define HEAP_TOP     100 /* ... besides the largest of as many sites */
#define HEAP_STEPS   512 /* the last ones */
#define HEAP_ONE     (1ull << 20)
#define HEAP_MOST    (1ull << 47) /* bytes of a block: what is more is damage */
#define HEAP_DEVICES 64

/* ---- heap_merge.c: the records of all threads by time ---- */

struct heap_lane { /* a thread */
	struct cursor cursor;
	const struct record *next; /* a heap record or REC_MEMORY; NULL = no more */
	uint64_t at; /* its offset */
	uint64_t ticks; /* its time: never before the one before it */
	uint32_t tid;
	struct pile open; /* slices around it */
};

struct heap_merge {
	const struct trace *t;
	struct pile lanes; /* struct heap_lane */
	uint32_t *order; /* a binary heap of them */
	size_t n, bytes;
	uint32_t *ops; /* names by text: open addressing */
	unsigned op_n;
	struct heap_op_slot {
		uint32_t id, op;
	} recent[1024];
	int err;
};

int heap_merge_start(struct heap_merge *m, const struct trace *t);
/* The thread whose record comes next, or NULL: no more (or m->err). */
struct heap_lane *heap_merge_top(const struct heap_merge *m);
void heap_merge_pop(struct heap_merge *m);
/* Name id of the operator or annotation in flight; 0 = none. One id for one text. */
uint32_t heap_merge_op(struct heap_lane *l);
void heap_merge_end(struct heap_merge *m);

/* ---- heap_blocks.c: address to live block ---- */

struct heap_block {
	uint64_t address;
	uint32_t at; /* its record, offset / 8; 0 = an empty slot */
	uint32_t site;
};

struct heap_blocks {
	struct heap_block *slot;
	size_t slots, n;
};

/* -ENOMEM. *was: the block that had the address, at 0 = none. */
int heap_blocks_put(struct heap_blocks *b, struct heap_block block,
		    struct heap_block *was);
struct heap_block heap_blocks_take(struct heap_blocks *b, uint64_t address);
void heap_blocks_free(struct heap_blocks *b);

/* ---- heap_track.c: one counter track ---- */

#define HEAP_POINTS 4096

struct heap_point {
	int64_t ns;
	int64_t value[2];
};

struct heap_track {
	struct heap_point *point; /* NULL = empty */
	size_t n;
	unsigned shift; /* intervals of 2^shift ns: maxima and the last value are kept */
};

int heap_track_add(struct heap_track *k, int64_t begin, struct heap_point p);
void heap_track_write(struct trace *t, const struct heap_track *k, const char *name,
		      const char *const series[2]);
void heap_track_free(struct heap_track *k);

/* ---- heap_sum.c: sums by call site ---- */

struct heap_sums {
	uint64_t allocs, frees; /* in 1 / HEAP_ONE */
	uint64_t bytes, freed;
};

static inline int64_t heap_live(const struct heap_sums *s)
{
	return (int64_t)(s->bytes - s->freed);
}

struct heap_site {
	struct heap_sums sums;
	int64_t peak; /* live at the heap's peak number peak_of */
	uint64_t max, max_ticks; /* largest block, and when */
	uint32_t max_at, max_tid; /* its record, offset / 8; its thread */
	uint32_t stack, op;
	uint32_t peak_of;
	uint32_t until; /* steps whose live bytes are in `held` */
	uint32_t held; /* newest struct heap_held, + 1 */
	uint8_t call; /* enum heap_call */
};

struct heap_held { /* live bytes of a site at the ends of steps [from, until) */
	int64_t live;
	uint32_t from, until;
	uint32_t before; /* + 1 */
	uint32_t spare;
};

struct heap_step {
	int64_t number;
	uint64_t begin, end; /* ticks */
	int64_t live; /* of the whole heap, at its end */
};

struct heap_large {
	uint64_t bytes;
	uint64_t ticks;
	uint32_t at; /* offset / 8 */
	uint32_t op, tid;
	uint32_t stack, site;
};

struct heap_rate { /* calls since `from` */
	int64_t from;
	uint64_t allocs, frees;
};

struct heap_frame { /* a text of the file */
	const char *text;
	uint32_t module; /* + 1; 0 = it is resolved, or never will be */
	uint32_t spare;
	uint64_t offset;
};

struct heap {
	enum heap_kept mode;
	bool summary; /* the file has the object "heap" */
	double mean; /* bytes from one sample to the next */
	struct pile sites; /* struct heap_site; the first is for what is not kept */
	uint32_t *index; /* open addressing: site by key */
	struct heap_cut *cut;
	struct heap_blocks blocks;
	struct pile held; /* struct heap_held */
	struct pile steps; /* struct heap_step, by end */
	size_t now; /* steps that have ended */
	struct heap_sums all;
	uint64_t foreign; /* frees of blocks older than the window */
	uint64_t implied; /* frees not seen, for the address came back */
	/* malloc_since=start: bytes and blocks that were live when the window began */
	int64_t older, older_blocks;
	int64_t peak;
	uint64_t peak_ticks;
	uint32_t peaks; /* counted */
	/* A binary heap, the least on top; at the end also what the top sites add. */
	struct heap_large largest[HEAP_LARGEST + HEAP_TOP];
	size_t large;
	struct heap_rate rate;
	struct heap_track live, calls, rss;
	struct heap_track tensor[1 + HEAP_DEVICES]; /* CPU, then GPUs */
	struct heap_track device[HEAP_DEVICES];
	/* heap_frames.c */
	struct symbols *symbols;
	bool resolved;
	struct pile stacks; /* uint32_t: ids that are written, ascending */
	struct pile lists; /* uint32_t: for each its length, then its frames */
	struct pile frames; /* struct heap_frame */
	uint32_t *frame_index; /* open addressing: frame + 1 */
	size_t frame_slots;
	struct pile modules; /* uint32_t: ids */
	uint32_t chosen[HEAP_SITES]; /* sites that are written one by one */
	size_t chosen_n;
	int64_t row[HEAP_STEPS]; /* a site's live bytes, step by step */
	int64_t rest[HEAP_STEPS]; /* what is left for the others */
};

static inline int64_t heap_now(const struct heap *h)
{
	return heap_live(&h->all) + h->older;
}

static inline const struct rec_alloc *heap_record_at(const struct trace *t, uint32_t at)
{
	return (const struct rec_alloc *)(t->view->base + (uint64_t)at * 8);
}

int heap_sum_start(struct trace *t);
void heap_sum_unmap(struct heap *h);
int heap_sum_alloc(struct trace *t, struct heap_lane *l);
int heap_sum_free(struct trace *t, const struct heap_lane *l);
/* Steps that end at `ticks` or before have ended. */
void heap_sum_until(struct heap *h, uint64_t ticks);
int heap_sum_end(struct heap *h);
/* Fills h->row. */
void heap_sum_steps(struct heap *h, const struct heap_site *s);

/* ---- heap_steps.c ---- */

int heap_steps_find(struct trace *t);
/* The step at `ticks`, or NULL. */
const struct heap_step *heap_step_at(const struct heap *h, uint64_t ticks);

/* ---- heap_count.c: REC_HEAP ---- */

int heap_counters(struct trace *t);
int heap_rate_add(struct heap *h, int64_t begin, int64_t ns, uint64_t allocs,
		  uint64_t frees);
int heap_rate_end(struct heap *h, int64_t begin, int64_t end);
/* cudaMalloc and so on, from the GPU part. */
int heap_device(struct trace *t);

/* ---- heap_cut.c: stacks no deeper than the file is to show them ---- */

int heap_cut_start(struct heap *h);
void heap_cut_end(struct heap *h);
/* The one id of all stacks with the same frames. */
uint32_t heap_cut(struct trace *t, uint32_t stack);
/* Its frames, as many as are shown. */
unsigned heap_frames_get(const struct trace *t, uint32_t stack,
			 struct stack_frame frame[STACKS_MOST]);

/* ---- heap_frames.c: stacks as the file has them ---- */

int heap_frames_want(struct heap *h, uint32_t stack); /* 0: none */
int heap_frames_find(struct trace *t);
/* Place in the file's "stacks", or -1. */
int64_t heap_frames_stack(const struct heap *h, uint32_t stack);
/* A JSON string: the innermost frames that are not an allocator's; or null. */
void heap_frames_site(struct trace *t, uint32_t stack);
void heap_frames_write(struct trace *t);
void heap_frames_free(struct heap *h);

#endif
