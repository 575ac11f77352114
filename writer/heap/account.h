/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account - a window's heap while its file is made: what the files of this folder share.
 *
 * Threads  one at a time.
 * Memory   a map for the struct, piles and maps for what grows; heap_done gives all back.
 * Errors   as heap.h.
 * Units    bytes; ticks or ns since the epoch as named.
 */
#ifndef WRITER_HEAP_ACCOUNT_H
#define WRITER_HEAP_ACCOUNT_H

#include "agent/core/stack_pair.h"
#include "writer/heap/blocks.h"
#include "writer/heap/frames.h"
#include "writer/heap/sum.h"
#include "writer/heap/track.h"
#include "writer/symbols/symbols.h"

#define HEAP_SITES   2000 /* sites written one by one */
#define HEAP_STEPS   512 /* steps kept: the last ones */
#define HEAP_DEVICES 64

struct heap_step {
	int64_t number;
	uint64_t begin, end; /* ticks */
	int64_t live; /* live bytes of the whole heap, at its end */
};

struct heap_rate { /* calls since `from` */
	int64_t from;
	uint64_t allocs, frees;
};

struct heap {
	enum cfg_malloc mode;
	bool summary; /* the file has the object "heap" */
	double mean; /* bytes from one sample to the next */
	struct pile sites; /* struct heap_site; the first sums up sites not kept */
	uint32_t *index; /* open addressing: site by key */
	struct heap_cut *cut;
	struct heap_blocks blocks;
	struct pile held; /* struct heap_held */
	struct pile steps; /* struct heap_step, by end */
	size_t now; /* steps that have ended */
	struct heap_sums all;
	uint64_t foreign; /* frees of blocks that are older than the window */
	uint64_t implied; /* frees not seen: a live block's address was allocated again */
	/* malloc_since=start: bytes and blocks that were live when the window began */
	int64_t older, older_blocks;
	int64_t peak;
	uint64_t peak_ticks;
	uint32_t peaks; /* how many peaks there were */
	/* A binary heap, the smallest on top; at the end the top sites add their largest,
	 * too. */
	struct heap_large largest[HEAP_LARGEST + HEAP_TOP];
	size_t large;
	struct heap_rate rate;
	struct heap_track live, calls, rss;
	struct heap_track tensor[1 + HEAP_DEVICES]; /* CPU, then GPUs */
	struct heap_track device[HEAP_DEVICES];
	/* frames.c */
	bool resolved;
	struct pile stacks; /* struct heap_stack: those to be written, ascending */
	struct pile lists; /* uint32_t: for each place its length, then its frames */
	uint32_t places; /* of the file's "stacks" */
	struct pile lines; /* char: texts of Python's frames */
	struct pile frames; /* struct heap_frame */
	uint32_t *frame_index; /* open addressing: frame + 1 */
	size_t frame_slots;
	struct pile modules; /* uint32_t: ids */
	uint32_t chosen[HEAP_SITES]; /* sites written one by one */
	size_t chosen_n;
	int64_t row[HEAP_STEPS]; /* a site's live bytes, step by step */
	int64_t rest[HEAP_STEPS]; /* ... and those of the sites not written one by one */
};

static inline int64_t heap_now(const struct heap *h)
{
	return heap_live(&h->all) + h->older;
}

/* steps.c: finds the window's steps, the last HEAP_STEPS; and the step at `ticks`, or
 * NULL. */
int heap_steps_find(struct trace *t);
const struct heap_step *heap_step_at(const struct heap *h, uint64_t ticks);

/* count.c: heap_counters draws the tracks of REC_HEAP; heap_rate_add counts calls for
 * "Heap calls", up to `ns`; heap_device draws the tracks of REC_BLOCK: cudaMalloc's and
 * the like. */
int heap_counters(struct trace *t);
int heap_rate_add(struct heap *h, int64_t begin, int64_t ns, uint64_t allocs,
		  uint64_t frees);
int heap_rate_end(struct heap *h, int64_t begin, int64_t end);
int heap_device(struct trace *t);

/* cut.c: the two stacks of a record, where all that look the same, as many frames as are
 * shown, have one id. */
int heap_cut_start(struct trace *t);
void heap_cut_end(struct heap *h);
struct stack_pair heap_cut(struct trace *t, uint32_t id);

#endif
